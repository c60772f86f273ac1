#include "features/memory/page_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace mixstack::memory_use {
namespace {

constexpr std::size_t kCells = 64;
using Cells = std::array<bool, kCells>;

Ranges ranges_of(const Cells& cells) {
  Ranges ranges;
  for (std::size_t i = 0; i < kCells; i++) {
    if (!cells.at(i)) continue;
    if (!ranges.empty() && ranges.back().end == i)
      ranges.back().end++;
    else
      ranges.push_back({i, i + 1});
  }
  return ranges;
}

TEST(PageRanges, BytesInAPart) {
  const Ranges ranges{{0x1000, 0x3000}, {0x5000, 0x6000}, {0x8000, 0x9000}};
  EXPECT_EQ(bytes_in(ranges, {0x0, 0x1000}), 0u);
  EXPECT_EQ(bytes_in(ranges, {0x2000, 0x5800}), 0x1800u);
  EXPECT_EQ(bytes_in(ranges, {0x3000, 0x5000}), 0u);
  EXPECT_EQ(bytes_in(ranges, {0x0, 0x10000}), 0x4000u);
  EXPECT_EQ(bytes_in({}, {0x0, 0x10000}), 0u);
}

TEST(PageRangesTest, AsCellsOneByOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; round++) {
    Cells a{}, b{}, only{}, both{}, either{};
    for (std::size_t i = 0; i < kCells; i++) {
      a.at(i) = random() % 3 != 0;
      b.at(i) = random() % 3 == 0;
      only.at(i) = a.at(i) && !b.at(i);
      both.at(i) = a.at(i) && b.at(i);
      either.at(i) = a.at(i) || b.at(i);
    }
    const Ranges x = ranges_of(a), y = ranges_of(b);
    EXPECT_EQ(joined(without(x, y), {}), ranges_of(only));
    EXPECT_EQ(joined(common(x, y), {}), ranges_of(both));
    EXPECT_EQ(joined(x, y), ranges_of(either));
    EXPECT_EQ(bytes_of(joined(x, y)), bytes_of(x) + bytes_of(y) - bytes_of(common(x, y)));
  }
}

TEST(PageRangesTest, TheLastOwnerHasIt) {
  std::mt19937 random(8);
  constexpr std::size_t kNobody = ~std::size_t{0};
  OwnerMap map;
  std::array<std::size_t, kCells> owner{};
  owner.fill(kNobody);
  for (std::size_t round = 0; round < 3000; round++) {
    const Address begin = random() % kCells, end = begin + random() % (kCells - begin + 1);
    const bool is_taken = random() % 4 != 0;
    is_taken ? map.own({begin, end}, round) : map.disown({begin, end});
    for (Address i = begin; i < end; i++) owner.at(i) = is_taken ? round : kNobody;
    Address at = 3;
    map.split({3, kCells}, [&](AddressRange r, std::optional<std::size_t> who) {
      EXPECT_EQ(r.begin, at);
      for (; at < r.end; at++) EXPECT_EQ(owner.at(at), who.value_or(kNobody)) << at << " in round " << round;
    });
    EXPECT_EQ(at, kCells);
  }
}

}  // namespace
}  // namespace mixstack::memory_use
