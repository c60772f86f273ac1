#include "features/record/code_changes.h"

#include <gtest/gtest.h>

namespace mixstack::record {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(CodeChanges, ArePlacesAndTimes) {
  CodeChanges changes;
  EXPECT_TRUE(changes.empty());
  EXPECT_FALSE(changes.touch(0x401000, 0, UINT64_MAX));
  changes.add({10 * kMs, {0x400000, 0x402000}});
  EXPECT_FALSE(changes.empty());
  EXPECT_TRUE(changes.touch(0x401000, 9 * kMs, 11 * kMs));
  EXPECT_TRUE(changes.touch(0x401000, 9 * kMs, 10 * kMs)) << "until is part of it";
  EXPECT_FALSE(changes.touch(0x401000, 10 * kMs, 11 * kMs)) << "after is not";
  EXPECT_FALSE(changes.touch(0x401000, 0, 9 * kMs));
  EXPECT_FALSE(changes.touch(0x402000, 0, UINT64_MAX)) << "beside it";
}

TEST(CodeChanges, ReachOverParts) {
  CodeChanges changes;
  constexpr Address kBase = 0x7f00'0000'0000;
  changes.add({kMs, {kBase - 4096, kBase + (5 << 21)}});
  for (const Address place : {kBase - 4096, kBase, kBase + (3 << 21), kBase + (5 << 21) - 1})
    EXPECT_TRUE(changes.touch(place, 0, kMs)) << std::hex << place;
  EXPECT_FALSE(changes.touch(kBase + (5 << 21), 0, kMs));
  changes.add({kMs, {kBase, kBase}});  // nothing
  changes.add({kMs, {kBase + 1, kBase}});
}

TEST(CodeChanges, AreForgottenWhenTheyAreOld) {
  CodeChanges changes;
  changes.add({kMs, {0x400000, 0x402000}});
  changes.add({kMs + 2 * CodeChanges::kKept, {0x900000, 0x902000}});
  EXPECT_FALSE(changes.touch(0x401000, 0, UINT64_MAX));
  EXPECT_TRUE(changes.touch(0x901000, 0, UINT64_MAX));
}

TEST(CodeChanges, AreForgottenWhereCodeIsMappedAllTheTime) {
  CodeChanges changes;
  for (std::uint64_t i = 0; i < 200'000; i++) changes.add({kMs * (i / 10), {0x900000, 0x902000}});
  EXPECT_FALSE(changes.touch(0x401000, 0, UINT64_MAX));
  EXPECT_FALSE(changes.touch(0x901000, 0, 17'000 * kMs));
  EXPECT_TRUE(changes.touch(0x901000, 19'000 * kMs, UINT64_MAX));
}

using Parts = std::vector<AddressRange>;

TEST(ReportedCode, TellsWhatIsOtherCodeNow) {
  ReportedCode known;
  EXPECT_TRUE(known.empty());
  EXPECT_EQ(known.learn({1, {0x1000, 0x3000}, 7, 0x1000}), (Parts{{0x1000, 0x3000}})) << "nothing was known of it";
  EXPECT_EQ(known.learn({2, {0x1000, 0x3000}, 7, 0x1000}), Parts()) << "the same file at the same place";
  EXPECT_EQ(known.learn({3, {0x1000, 0x5000}, 7, 0x1000}), (Parts{{0x3000, 0x5000}})) << "it has grown";
  EXPECT_EQ(known.learn({4, {0x2000, 0x3000}, 8, 0}), (Parts{{0x2000, 0x3000}})) << "another file in its midst";
  EXPECT_EQ(known.learn({5, {0x1000, 0x5000}, 7, 0x1000}), (Parts{{0x2000, 0x3000}}));
  EXPECT_EQ(known.learn({6, {0x1000, 0x5000}, 7, 0x2000}), (Parts{{0x1000, 0x5000}})) << "another part of the file";
  EXPECT_EQ(known.learn({7, {0x0, 0x6000}, 7, 0x1000}), (Parts{{0, 0x1000}, {0x5000, 0x6000}}));
  EXPECT_EQ(known.learn({8, {0x1000, 0x1000}, 9, 0}), Parts());
}

TEST(ReportedCode, MemoryOfNoFileStaysWhatItIs) {
  ReportedCode known;
  (void)known.learn({1, {0x1000, 0x3000}, 0, 0});
  EXPECT_EQ(known.learn({2, {0x2000, 0x4000}, 0, 0}), (Parts{{0x3000, 0x4000}}));
}

TEST(CodeChanges, WhatHasNoRoomIsEverywhere) {
  CodeChanges changes;
  changes.add({kMs, {0, UINT64_MAX}});
  EXPECT_TRUE(changes.touch(0x401000, 0, kMs));
  EXPECT_FALSE(changes.touch(0x401000, kMs, 2 * kMs));
  CodeChanges many;
  for (std::uint64_t i = 0; i < 100'000; i++) many.add({2 * kMs, {i << 21, (i << 21) + 4096}});
  EXPECT_TRUE(many.touch(Address{99'999} << 21, 0, 2 * kMs));
  EXPECT_TRUE(many.touch(0x1234'5678'9000, 0, 2 * kMs));
}

}  // namespace
}  // namespace mixstack::record
