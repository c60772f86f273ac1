#include "features/record/memory_event.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <array>
#include <cstring>

namespace mixstack::record {
namespace {

constexpr std::uint64_t kPage = 4096;
using Kind = MemoryEvent::Kind;

/// The fields of raw_syscalls/sys_exit.
std::array<std::byte, 24> fields(std::int64_t number, std::int64_t result) {
  std::array<std::byte, 24> raw{};
  std::memcpy(raw.data() + 8, &number, 8);
  std::memcpy(raw.data() + 16, &result, 8);
  return raw;
}

Registers arguments(std::uint64_t second, std::uint64_t third) {
  Registers user(Arch::x86_64);
  user.set(x86_64_reg::rsi, second);
  user.set(x86_64_reg::rdx, third);
  return user;
}

TEST(MemoryEventTest, WholePages) {
  const auto mapped = memory_call(fields(SYS_mmap, 0x7f0000000000), arguments(5000, 3), kPage);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->kind, Kind::mapped);
  EXPECT_EQ(mapped->range, (AddressRange{0x7f0000000000, 0x7f0000002000}));
  const auto moved = memory_call(fields(SYS_mremap, 0x7f0000000000), arguments(1, 3 * kPage), kPage);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->range.size(), 3 * kPage);
  const auto broke = memory_call(fields(SYS_brk, 0x555500021000), arguments(0, 0), kPage);
  ASSERT_TRUE(broke);
  EXPECT_EQ(broke->kind, Kind::broke);
  EXPECT_EQ(broke->range.begin, 0x555500021000u);
  const MemoryEvent touched = touched_page(0x7f0000001234, 65536);
  EXPECT_EQ(touched.range, (AddressRange{0x7f0000000000, 0x7f0000010000}));
}

TEST(MemoryEventTest, WhatFailedOrIsNothingOfMemoryIsNothing) {
  EXPECT_FALSE(memory_call(fields(SYS_mmap, -12), arguments(kPage, 3), kPage));
  EXPECT_FALSE(memory_call(fields(SYS_read, 100), arguments(kPage, 3), kPage));
  EXPECT_FALSE(memory_call(fields(SYS_mmap, 0x7f0000000000), arguments(0, 3), kPage));
  EXPECT_FALSE(memory_call(fields(SYS_mmap, 0x7f0000000000), arguments(~std::uint64_t{0}, 3), kPage));
  EXPECT_FALSE(memory_call(fields(SYS_mmap, 0x7f0000000000), Registers(Arch::x86_64), kPage));
  EXPECT_FALSE(memory_call(fields(SYS_mmap, 0x7f0000000000), Registers(Arch::unknown), kPage));
  const auto raw = fields(SYS_brk, 0x555500021000);
  EXPECT_FALSE(memory_call(std::span(raw).first(20), arguments(0, 0), kPage));
}

TEST(MemoryEventTest, TheFilterNamesTheCalls) {
  EXPECT_NE(memory_calls_filter().find("id==" + std::to_string(SYS_brk)), std::string::npos);
  EXPECT_EQ(memory_calls_filter().find("||id=="), memory_calls_filter().find("||"));
}

}  // namespace
}  // namespace mixstack::record
