#include "features/memory/range_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace mixstack::memory_use {
namespace {

using Pieces = std::vector<std::pair<AddressRange, RangeMap::Label>>;

Pieces split(const RangeMap& map, AddressRange range) {
  Pieces pieces;
  map.split(range, [&](AddressRange r, RangeMap::Label label) { pieces.emplace_back(r, label); });
  return pieces;
}

TEST(RangeMapTest, TheFirstClaimWins) {
  RangeMap map;
  map.claim({0x20, 0x30}, 1);
  map.claim({0x10, 0x40}, 2);
  map.claim({0x38, 0x50}, 3);
  map.settle();
  EXPECT_EQ(split(map, {0x00, 0x60}), (Pieces{{{0x00, 0x10}, RangeMap::kNone},
                                              {{0x10, 0x20}, 2},
                                              {{0x20, 0x30}, 1},
                                              {{0x30, 0x40}, 2},
                                              {{0x40, 0x50}, 3},
                                              {{0x50, 0x60}, RangeMap::kNone}}));
}

TEST(RangeMapTest, PartsOfPiecesAreSplitOff) {
  RangeMap map;
  map.claim({0x10, 0x20}, 7);
  map.settle();
  EXPECT_EQ(split(map, {0x12, 0x14}), (Pieces{{{0x12, 0x14}, 7}}));
  EXPECT_EQ(split(map, {0x1f, 0x21}), (Pieces{{{0x1f, 0x20}, 7}, {{0x20, 0x21}, RangeMap::kNone}}));
  EXPECT_TRUE(split(map, {0x14, 0x14}).empty());
}

TEST(RangeMapTest, NothingIsClaimedByEmptyRanges) {
  RangeMap map;
  map.claim({0x20, 0x20}, 1);
  map.claim({0x30, 0x20}, 1);
  map.settle();
  EXPECT_EQ(split(map, {0x10, 0x40}), (Pieces{{{0x10, 0x40}, RangeMap::kNone}}));
}

TEST(RangeMapTest, PiecesAlwaysAddUp) {
  std::mt19937 random(37);
  for (int round = 0; round < 200; round++) {
    RangeMap map;
    std::map<Address, RangeMap::Label> truth;
    for (RangeMap::Label label = 0; label < 12; label++) {
      const Address begin = random() % 64, end = begin + random() % 20;
      map.claim({begin, end}, label % 5);
      for (Address a = begin; a < end; a++) truth.emplace(a, label % 5);
    }
    map.settle();
    const Address from = random() % 40, to = from + random() % 60;
    Address next = from;
    for (const auto& [range, label] : split(map, {from, to})) {
      EXPECT_EQ(range.begin, next);
      for (Address a = range.begin; a < range.end; a++) {
        const auto known = truth.find(a);
        EXPECT_EQ(label, known == truth.end() ? RangeMap::kNone : known->second);
      }
      next = range.end;
    }
    EXPECT_EQ(next, to);
  }
}

}  // namespace
}  // namespace mixstack::memory_use
