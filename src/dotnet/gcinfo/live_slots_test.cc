#include "dotnet/gcinfo/live_slots.h"

#include <gtest/gtest.h>

#include "support/gc_info_bits.h"

namespace mixstack::dotnet {
namespace {

using Bits = test::GcInfoBits;
using Base = GcSlotBase;
using namespace x86_64_reg;

constexpr std::uint32_t kLength = 200;
constexpr unsigned kOffsetBits = 8;  // of 200

/// A long header with a base register, for x86-64.
Bits header(std::uint32_t safe_points, std::uint32_t ranges) {
  Bits bits;
  bits.put(1, 1).put(0x40, 10).number(kLength, 8).number(0, 3).number(0, 3);
  return bits.number(safe_points, 2).number(ranges, 1);
}
/// Slots: registers rbx and r14, [rbp-8] and, pinned, of an inner pointer at [rsp+16]; untracked [rbp-24] and [rbp-16].
void put_slots(Bits& bits) {
  bits.put(1, 1).number(2, 2).put(1, 1).number(2, 2).number(0, 1);
  bits.number(3, 3).put(0, 2);                      // rbx, no flags
  bits.number(10, 2);                               // eleven further: r14
  bits.put(2, 2).put(0x3f, 6).put(0, 1).put(0, 2);  // frame -1, no flags
  bits.put(1, 2).number(3, 4);                      // sp, three further
}
void put_slots_with_untracked(Bits& bits) {
  bits.put(0, 1).put(1, 1).number(1, 2).number(2, 1);  // one tracked, two untracked
  bits.put(1, 2).number(2, 6).put(3, 2);               // sp +2, interior and pinned
  bits.put(2, 2).put(0x3d, 6).put(0, 1).put(1, 2);     // frame -3, interior
  bits.put(2, 2).put(0x3e, 6).put(0, 1).put(2, 2);     // frame -2, pinned
}

Result<LiveSlots> at(const Bits& bits, std::uint32_t offset, bool is_aborted = false, bool leaves_out = false) {
  return decode_live_slots(bits.bytes(), Arch::x86_64, 5, {offset, is_aborted, leaves_out});
}
const GcSlot kRbx{.base = Base::in_register, .reg = rbx}, kR14{.base = Base::in_register, .reg = r14},
    kLocal{.base = Base::frame_register, .offset = -8}, kArgument{.base = Base::sp, .offset = 16};
using Slots = std::vector<GcSlot>;

TEST(LiveSlots, OfASafePointItsOwnSet) {
  Bits bits = header(2, 0);
  bits.put(50, kOffsetBits).put(90, kOffsetBits);
  put_slots(bits);
  bits.put(0, 1).put(0b0101, 4).put(0b1010, 4);
  const auto first = at(bits, 50), second = at(bits, 90), none = at(bits, 51);
  ASSERT_TRUE(first && second && none);
  EXPECT_EQ(first->slots, (Slots{kRbx, kLocal}));
  EXPECT_EQ(second->slots, (Slots{kR14, kArgument}));
  EXPECT_TRUE(first->is_told);
  EXPECT_FALSE(none->is_told);
  EXPECT_TRUE(none->slots.empty());
  const auto aborted = at(bits, 50, true);
  ASSERT_TRUE(aborted);
  EXPECT_TRUE(aborted->slots.empty()) << "execution does not go on there";
}

TEST(LiveSlots, SetsThroughATableOfPlaces) {
  Bits bits = header(3, 0);
  bits.put(10, kOffsetBits).put(20, kOffsetBits).put(30, kOffsetBits);
  put_slots(bits);
  // The first and the third share one. The places are five bits wide.
  bits.put(1, 1).number(4, 3).put(0, 5).put(5, 5).put(0, 5).align();
  const std::size_t begin = bits.size();
  bits.put(0, 1).put(0b0110, 4);  // a bit for each
  ASSERT_EQ(bits.size() - begin, 5u);
  bits.put(1, 1).put(0, 1).number(1, 4).number(2, 2);  // runs: one that is not, three that are
  const Slots shared{kR14, kLocal};
  for (const std::uint32_t offset : {10u, 30u}) {
    const auto live = at(bits, offset);
    ASSERT_TRUE(live);
    EXPECT_EQ(live->slots, shared);
  }
  const auto runs = at(bits, 20);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->slots, (Slots{kR14, kLocal, kArgument}));
}

TEST(LiveSlots, RunsThatAreLongTheOtherWayRound) {
  Bits bits = header(1, 0);
  bits.put(10, kOffsetBits);
  put_slots(bits);
  bits.put(1, 1).number(4, 3).put(0, 5).align();
  bits.put(1, 1).put(1, 1).number(0, 2).number(1, 4).number(1, 2);  // none, two that are, two that are not
  const auto live = at(bits, 10);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->slots, (Slots{kRbx, kR14}));
}

/// Ranges 10 .. 74 and 100 .. 150: 114 offsets, two chunks.
Bits interruptible(bool second_chunk) {
  Bits bits = header(0, 2);
  bits.number(10, 6).number(63, 6).number(26, 6).number(49, 6);
  put_slots(bits);
  bits.number(6, 3).put(1, 6).put(second_chunk ? 33 : 0, 6).align();
  // rbx lives from 20 on; r14 up to 40 of the first chunk, whose offsets begin at 10.
  bits.put(0, 1).put(0b0011, 4).put(0b01, 2);
  bits.put(1, 1).put(10, 6).put(0, 1);                      // rbx: changes at 10
  bits.put(1, 1).put(30, 6).put(0, 1);                      // r14: at 30
  bits.put(0, 32 - (7 + 8 + 8) % 32);                       // up to the 33rd bit
  bits.put(0, 1).put(0b0100, 4).put(1, 1);                  // the local, at the end of the chunk
  bits.put(1, 1).put(5, 6).put(1, 1).put(20, 6).put(0, 1);  // dead from 5 to 20
  return bits;
}

TEST(LiveSlots, InRangesByChunks) {
  const Bits bits = interruptible(true);
  const auto slots = [&](std::uint32_t offset) {
    const auto live = at(bits, offset);
    EXPECT_TRUE(live) << offset;
    return live ? live->slots : Slots{};
  };
  EXPECT_EQ(slots(10), (Slots{kR14}));
  EXPECT_EQ(slots(19), (Slots{kR14}));
  EXPECT_EQ(slots(20), (Slots{kRbx, kR14}));
  EXPECT_EQ(slots(39), (Slots{kRbx, kR14}));
  EXPECT_EQ(slots(40), (Slots{kRbx}));
  EXPECT_EQ(slots(73), (Slots{kRbx}));
  EXPECT_EQ(slots(100), (Slots{kLocal}));
  EXPECT_EQ(slots(105), (Slots{}));
  EXPECT_EQ(slots(120), (Slots{kLocal}));
  EXPECT_EQ(at(bits, 20, true)->slots, (Slots{kRbx, kR14})) << "aborted, but told";
  for (const std::uint32_t outside : {9u, 74u, 99u, 150u}) {
    const auto live = at(bits, outside);
    ASSERT_TRUE(live);
    EXPECT_FALSE(live->is_told);
    EXPECT_TRUE(live->slots.empty());
  }
}

TEST(LiveSlots, AChunkWithoutAnyIsAsTheOneBeforeItEnded) {
  const auto live = at(interruptible(false), 130);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->slots, (Slots{kRbx}));
}

TEST(LiveSlots, UntrackedOnesAlwaysLive) {
  Bits bits = header(1, 0);
  bits.put(10, kOffsetBits);
  put_slots_with_untracked(bits);
  bits.put(0, 1).put(1, 1);
  const GcSlot tracked{.base = Base::sp, .offset = 16, .is_interior = true, .is_pinned = true};
  const GcSlot inner{.base = Base::frame_register, .offset = -24, .is_interior = true, .is_untracked = true};
  const GcSlot pinned{.base = Base::frame_register, .offset = -16, .is_pinned = true, .is_untracked = true};
  EXPECT_EQ(at(bits, 10)->slots, (Slots{tracked, inner, pinned}));
  EXPECT_EQ(at(bits, 11)->slots, (Slots{inner, pinned}));
  EXPECT_EQ(at(bits, 10, true)->slots, Slots{}) << "the method has no range, hence no handler";
  EXPECT_EQ(at(bits, 10, false, true)->slots, (Slots{tracked}));
}

TEST(LiveSlots, OfArm64OffsetsCountInstructions) {
  Bits bits;
  bits.put(1, 1).put(0x40, 10).number(kLength / 4, 8).number(0, 2).number(0, 3).number(1, 3).number(0, 1);
  bits.put(20 / 4, 6);                    // of 50 instructions
  bits.put(1, 1).number(1, 3).put(0, 1);  // one register
  bits.number(19, 3).put(0, 2);
  bits.put(0, 1).put(1, 1);
  const auto decode = [&](std::uint32_t offset) {
    return decode_live_slots(bits.bytes(), Arch::aarch64, 5, {.offset = offset});
  };
  ASSERT_TRUE(decode(20));
  EXPECT_EQ(decode(20)->slots, (Slots{{.base = Base::in_register, .reg = 19}}));
  EXPECT_TRUE(decode(24)->slots.empty());
  EXPECT_TRUE(decode(22)->slots.empty()) << "inside an instruction";
}

TEST(LiveSlots, SafePointsOfAMethodOfOneByteTakeNoTime) {
  Bits bits;
  bits.put(1, 1).put(0x40, 10).number(1, 8).number(0, 3).number(0, 3).number(0xfffffff0u, 2).number(0, 1).put(0, 16);
  const auto live = at(bits, 1);  // four thousand million of no bits each, none of them there
  EXPECT_TRUE(live && live->slots.empty());
}

TEST(LiveSlots, WhatCannotBeIsRefused) {
  Bits bits = header(2, 0);
  bits.put(50, kOffsetBits).put(90, kOffsetBits);
  put_slots(bits);
  EXPECT_EQ(at(bits, kLength + 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(decode_live_slots(bits.bytes(), Arch::x86_64, 3, {50}).error().code, ErrorCode::unsupported);
  EXPECT_EQ(decode_live_slots(bits.bytes(), Arch::arm, 5, {50}).error().code, ErrorCode::unsupported_cpu);
  Bits many = header(0, 0);
  many.put(1, 1).number(1000, 2).put(0, 200);  // more registers than there are bits
  EXPECT_EQ(at(many, 0).error().code, ErrorCode::truncated);
  Bits no_base;
  no_base.put(1, 1).put(0, 10).number(kLength, 8).number(0, 3).number(0, 2).number(0, 1);
  no_base.put(0, 1).put(1, 1).number(0, 2).number(1, 1).put(2, 2).number(1, 6).put(0, 2).put(0, 32);
  EXPECT_EQ(at(no_base, 0).error().code, ErrorCode::malformed) << "counted from a register that there is not";
  Bits strange = header(0, 0);
  strange.put(0, 1).put(1, 1).number(0, 2).number(1, 1).put(3, 2).number(1, 6).put(0, 2).put(0, 32);
  EXPECT_EQ(at(strange, 0).error().code, ErrorCode::malformed) << "a base that there is not";
}

}  // namespace
}  // namespace mixstack::dotnet
