#include "agent/in_process/jit_map.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace mixstack::agent {
namespace {

constexpr Address kHeap = 0x7f1234000000;

JitCode code_at(Address begin, std::uint64_t size, std::uint64_t method) {
  JitCode code;
  code.range = {begin, begin + size};
  code.method = method;
  code.prologue = 8;
  code.rule.kind = unwind::CompactKind::register_offset;
  code.rule.cfa_offset = static_cast<std::int32_t>(16 + method % 7 * 8);
  return code;
}

std::uint64_t method_at(const JitMap& map, Address address) {
  JitCode code;
  return map.find(address, code) ? code.method : 0;
}

TEST(JitMap, FindsEveryAddressOfAPieceAndNoOther) {
  JitMap map;
  ASSERT_TRUE(map.is_usable());
  ASSERT_TRUE(map.add(code_at(kHeap + 0x40, 0x60, 1)));
  ASSERT_TRUE(map.add(code_at(kHeap + 0xa0, 0x5000, 2)));
  ASSERT_TRUE(map.add(code_at(kHeap + 0x200000 - 0x10, 0x20, 3))) << "across two regions";
  EXPECT_EQ(method_at(map, kHeap + 0x3f), 0u);
  EXPECT_EQ(method_at(map, kHeap + 0x40), 1u);
  EXPECT_EQ(method_at(map, kHeap + 0x9f), 1u);
  for (Address a = kHeap + 0xa0; a < kHeap + 0x50a0; a += 13) EXPECT_EQ(method_at(map, a), 2u);
  EXPECT_EQ(method_at(map, kHeap + 0x50a0), 0u);
  EXPECT_EQ(method_at(map, kHeap + 0x1fffff), 3u);
  EXPECT_EQ(method_at(map, kHeap + 0x20000f), 3u);
  EXPECT_EQ(method_at(map, 5), 0u);
  EXPECT_EQ(method_at(map, ~Address{0}), 0u);
}

/// AArch64's runtimes make their code above 2^47, and the larger address spaces of either CPU reach farther.
TEST(JitMap, CodeAnywhereInUserSpace) {
  JitMap map;
  for (const Address at : {Address{0xffff53a92000}, Address{0xfffffffff0000}, Address{0xff7ffffffff000}}) {
    ASSERT_TRUE(map.add(code_at(at, 0x80, (at >> 12) & 0xffff))) << std::hex << at;
    EXPECT_EQ(method_at(map, at + 0x7f), (at >> 12) & 0xffff);
    EXPECT_EQ(map.free_method((at >> 12) & 0xffff).size(), 1u);
  }
  EXPECT_EQ(map.account().refused, 0u);
}

TEST(JitMap, KeepsWhatItWasTold) {
  JitMap map;
  JitCode code = code_at(kHeap, 100, 7);
  code.image_base = kHeap - 0x1000, code.unwind_data = 0x1234, code.part = JitPart::funclet, code.may_be_freed = true;
  code.kept = 3, code.prologue_bytes[2] = std::byte{0x55};
  ASSERT_TRUE(map.add(code));
  JitCode found;
  ASSERT_TRUE(map.find_with_prologue(kHeap + 99, found));
  EXPECT_EQ(found.range, code.range);
  EXPECT_EQ(found.image_base, code.image_base);
  EXPECT_EQ(found.unwind_data, code.unwind_data);
  EXPECT_EQ(found.part, JitPart::funclet);
  EXPECT_TRUE(found.may_be_freed);
  EXPECT_EQ(found.kept, 3);
  EXPECT_EQ(found.prologue_bytes, code.prologue_bytes);
  EXPECT_TRUE(found.rule.same_rule(code.rule));
}

TEST(JitMap, FreedCodeIsGoneAndItsRoomIsUsedAgain) {
  JitMap map({.most_pieces = 8, .most_regions = 16});
  for (std::uint64_t round = 1; round <= 100; round++) {
    for (std::uint64_t i = 0; i < 4; i++) ASSERT_TRUE(map.add(code_at(kHeap + i * 0x100, 0x100, round))) << round;
    EXPECT_EQ(method_at(map, kHeap + 0x3ff), round);
    EXPECT_EQ(map.free_method(round).size(), 4u);
    EXPECT_EQ(method_at(map, kHeap + 0x3ff), 0u);
  }
  EXPECT_EQ(map.account().pieces, 0u);
  EXPECT_EQ(map.account().freed, 400u);
  EXPECT_EQ(map.account().refused, 0u);
}

TEST(JitMap, CodeInThePlaceOfOtherCode) {
  JitMap map;
  ASSERT_TRUE(map.add(code_at(kHeap, 64, 1)));
  ASSERT_TRUE(map.add(code_at(kHeap, 32, 2)));
  EXPECT_EQ(method_at(map, kHeap + 31), 2u);
  EXPECT_EQ(method_at(map, kHeap + 63), 0u);
  EXPECT_TRUE(map.free_method(1).empty());
  EXPECT_EQ(map.account().pieces, 1u);
}

TEST(JitMap, IsBoundedAndCountsWhatItRefused) {
  JitMap map({.most_pieces = 10, .most_regions = 4});
  EXPECT_FALSE(map.add(code_at(kHeap, 0, 1)));
  EXPECT_FALSE(map.add(code_at(100, 16, 1)));
  EXPECT_FALSE(map.add(code_at(~Address{0} - 100, 50, 1)));
  EXPECT_FALSE(map.add(code_at(kHeap, 5 << 20, 1))) << "in more regions than there is room for";
  EXPECT_FALSE(map.add(code_at(kHeap, 65 << 20, 1)));
  int added = 0;
  for (Address i = 0; i < 20; i++) added += map.add(code_at(kHeap + i * 0x20, 0x20, i));
  EXPECT_EQ(added, 10);
  EXPECT_EQ(map.account().refused, 15u);
}

TEST(JitMap, AMethodTakesAtMost96Bytes) {
  JitMap map;
  std::mt19937 random(1);
  Address at = kHeap;
  constexpr std::size_t kMethods = 100'000;
  for (std::uint64_t i = 1; i <= kMethods; i++) {
    const std::uint64_t size = 40 + random() % 500;
    ASSERT_TRUE(map.add(code_at(at, size, i)));
    at += (size + 31) & ~31u;
  }
  EXPECT_LE(map.account().bytes / kMethods, 96u);
}

TEST(JitMap, PiecesOfOneGranuleBeyondItsBlock) {
  JitMap map({.most_pieces = 2000, .most_regions = 16});
  for (int round = 0; round < 3; round++) {
    for (Address i = 0; i < 1024; i++) ASSERT_TRUE(map.add(code_at(kHeap + i, 1, i + 1))) << "a byte each";
    for (Address i = 0; i < 1024; i++) ASSERT_EQ(method_at(map, kHeap + i), i + 1);
    const auto bytes = map.account().bytes;
    for (Address i = 0; i < 1024; i += 2) EXPECT_EQ(map.free_method(i + 1).size(), 1u);
    for (Address i = 0; i < 1024; i++) ASSERT_EQ(method_at(map, kHeap + i), i % 2 == 0 ? 0 : i + 1);
    for (Address i = 1; i < 1024; i += 2) EXPECT_EQ(map.free_method(i + 1).size(), 1u);
    EXPECT_EQ(map.account().bytes, bytes) << "room is used again";
  }
}

TEST(JitMap, NewCodeTakesThePlaceOfAllThatItCovers) {
  JitMap map;
  for (Address i = 0; i < 64; i++) ASSERT_TRUE(map.add(code_at(kHeap + i * 0x40, 0x30, i + 1)));
  std::vector<AddressRange> replaced;
  ASSERT_TRUE(map.add(code_at(kHeap + 0x50, 0x780, 99), &replaced));
  EXPECT_EQ(replaced.size(), 31u);
  EXPECT_EQ(method_at(map, kHeap + 0x2f), 1u);
  EXPECT_EQ(method_at(map, kHeap + 0x45), 0u) << "part of its place is another's";
  EXPECT_EQ(method_at(map, kHeap + 0x7c0), 99u);
  EXPECT_EQ(method_at(map, kHeap + 0x800), 33u);
  EXPECT_TRUE(map.free_method(5).empty());
  EXPECT_EQ(map.account().pieces, 34u);
  EXPECT_EQ(map.account().freed, 31u);
}

/// Readers copy pieces whose room is used again at once: what they believe belongs together.
TEST(JitMap, ReadersAndWritersMeet) {
  JitMap map({.most_pieces = 64, .most_regions = 64});
  std::atomic<bool> ends{false};
  std::atomic<int> wrong{0}, found{0};
  const auto read = [&] {
    std::mt19937 random(7);
    while (!ends) {
      const Address slot = random() % 32, address = kHeap + slot * 0x80 + random() % 0x80;
      JitCode code;
      if (!map.find_with_prologue(address, code)) continue;
      found++;
      const bool fits = code.method % 32 == slot && code.unwind_data == code.method && code.range.contains(address) &&
                        code.image_base == kHeap - code.method && code.prologue_bytes[3] == code.prologue_bytes[20] &&
                        code.prologue_bytes[3] == static_cast<std::byte>(code.method / 32);
      if (!fits) wrong++;
    }
  };
  std::thread one(read), two(read);
  std::mt19937 random(3);
  for (std::uint64_t i = 1; i <= 400'000; i++) {
    const std::uint64_t slot = random() % 32, method = i * 32 + slot;
    JitCode code = code_at(kHeap + slot * 0x80, 0x80, method);
    code.image_base = kHeap - method;
    code.unwind_data = static_cast<std::uint32_t>(method);
    code.prologue_bytes.fill(static_cast<std::byte>(i));
    map.add(code);
    if (random() % 2 == 0) (void)map.free_method(method);
  }
  ends = true;
  one.join();
  two.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace mixstack::agent
