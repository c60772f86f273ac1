#include "base/arch/restarted_call.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::arch {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
std::vector<std::byte> words_of(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t word : words)
    for (int i = 0; i < 4; i++) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
  return bytes;
}

TEST(RestartedCall, TheNumberStandsBeforeTheCall) {
  // glibc 2.36, __poll and __pthread_cond_wait_common's futex wait: mov; xor or a move of an argument; syscall.
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, bytes_of({0x90, 0xb8, 7, 0, 0, 0, 0x0f, 0x05})), 7);
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, bytes_of({0xb8, 0xca, 0, 0, 0, 0x45, 0x31, 0xc0, 0x0f, 0x05})), 202);
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, bytes_of({0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05})), 230);
  EXPECT_EQ(restarted_call(Arch::aarch64, 128, words_of({0xd2800008 | 98 << 5, 0xaa0303e0, 0xd4000001})), 98);
}

TEST(RestartedCall, WhatIsNotProvedStays) {
  EXPECT_EQ(restarted_call(Arch::x86_64, 202, bytes_of({0xb8, 7, 0, 0, 0, 0x0f, 0x05})), 202) << "it was not restarted";
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, bytes_of({0xb8, 0, 0, 0, 0, 0x0f, 0x05})), 219)
      << "read never goes on so";
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, bytes_of({0xb8, 7, 0, 0, 0, 0x0f, 0x0b})), 219) << "no system call";
  EXPECT_EQ(restarted_call(Arch::x86_64, 219, {}), 219);
  EXPECT_EQ(restarted_call(Arch::aarch64, 128, words_of({0xd2800008 | 63 << 5, 0xd4000001})), 128) << "read";
  EXPECT_EQ(restarted_call(Arch::aarch64, 128, words_of({0xd4000001})), 128);
  EXPECT_EQ(restarted_call(Arch::arm, 0, {}), 0);
}

}  // namespace
}  // namespace mixstack::arch
