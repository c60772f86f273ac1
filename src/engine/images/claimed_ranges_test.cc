#include "engine/images/claimed_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mixstack::images {
namespace {

TEST(ClaimedRanges, NeighboursAreFreeAndOverlapsAreNot) {
  ClaimedRanges claimed;
  EXPECT_TRUE(claimed.claim({10, 20}));
  EXPECT_TRUE(claimed.claim({20, 30}));
  EXPECT_TRUE(claimed.claim({0, 10}));
  EXPECT_FALSE(claimed.claim({29, 40}));
  EXPECT_FALSE(claimed.claim({39, 41})) << "what was refused is claimed, too";
  EXPECT_TRUE(claimed.claim({41, ~Address{0}}));
}

TEST(ClaimedRanges, EqualsAListOfBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    ClaimedRanges claimed;
    std::vector<bool> bytes(256);
    for (int i = 0; i < 40; i++) {
      const std::size_t begin = random() % 250, end = begin + 1 + random() % std::min<std::size_t>(12, 255 - begin);
      bool is_free = true;
      for (std::size_t at = begin; at < end; at++) is_free = is_free && !bytes[at];
      for (std::size_t at = begin; at < end; at++) bytes[at] = true;
      ASSERT_EQ(claimed.claim({begin, end}), is_free) << round << ": " << begin << " " << end;
    }
  }
}

}  // namespace
}  // namespace mixstack::images
