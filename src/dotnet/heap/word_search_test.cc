#include "dotnet/heap/word_search.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet::objects {
namespace {

std::vector<std::size_t> found(const std::vector<std::uint64_t>& wanted, const std::vector<std::uint64_t>& words) {
  std::vector<std::size_t> hits;
  WordSearch(wanted).in(words, [&](std::size_t i) { hits.push_back(i); });
  return hits;
}

TEST(WordSearch, FindsWhatIsLookedForAndNothingBetween) {
  const std::vector<std::uint64_t> words = {0, 0x7000, 0x7008, 0x7010, 0x7800, 0x8000, 0x7008, ~std::uint64_t{0}};
  EXPECT_EQ(found({0x7008, 0x7800}, words), (std::vector<std::size_t>{2, 4, 6}));
}

TEST(WordSearch, OfNothingFindsNothing) { EXPECT_TRUE(found({}, {0, 1, 2}).empty()); }

TEST(WordSearch, ZeroIsNeverFound) {
  EXPECT_TRUE(found({0}, {0, 0}).empty());
  EXPECT_EQ(found({0, 8}, {0, 8}), (std::vector<std::size_t>{1}));
}

TEST(WordSearch, ManyThatShareSlots) {
  std::vector<std::uint64_t> wanted, words;
  for (std::uint64_t i = 1; i <= 1000; i++) {
    wanted.push_back(i << 20);
    words.push_back(i << 20);
    words.push_back((i << 20) + 8);
  }
  EXPECT_EQ(found(wanted, words).size(), 1000U);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
