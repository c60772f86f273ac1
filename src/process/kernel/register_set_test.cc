#include "process/kernel/register_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace mixstack::process {
namespace {

/// Words 0, 1, 2 ... with one bit set in all, so that each place is known by its value.
template <std::size_t Words>
std::array<std::byte, Words * 8> numbered() {
  std::array<std::byte, Words * 8> bytes;
  for (std::uint64_t i = 0; i < Words; i++) {
    const std::uint64_t value = 0x1000 + i;
    std::memcpy(bytes.data() + i * 8, &value, 8);
  }
  return bytes;
}

TEST(RegisterSet, X8664PutsEveryRegisterInItsPlace) {
  const auto bytes = numbered<27>();
  const auto set = decode_register_set(Arch::x86_64, bytes);
  ASSERT_TRUE(set.has_value());
  // Offsets in struct user_regs_struct as gdb names them (offsetof in <sys/user.h>, checked on an AMD64 host).
  const std::pair<unsigned, unsigned> places[] = {
      {x86_64_reg::r15, 0},  {x86_64_reg::r14, 1},  {x86_64_reg::r13, 2},  {x86_64_reg::r12, 3},  {x86_64_reg::rbp, 4},
      {x86_64_reg::rbx, 5},  {x86_64_reg::r11, 6},  {x86_64_reg::r10, 7},  {x86_64_reg::r9, 8},   {x86_64_reg::r8, 9},
      {x86_64_reg::rax, 10}, {x86_64_reg::rcx, 11}, {x86_64_reg::rdx, 12}, {x86_64_reg::rsi, 13}, {x86_64_reg::rdi, 14},
      {x86_64_reg::rip, 16}, {x86_64_reg::rsp, 19}};
  for (const auto& [reg, place] : places) EXPECT_EQ(set->registers.get(reg), 0x1000u + place) << reg;
  EXPECT_EQ(set->syscall, 0x1000 + 15);
  EXPECT_EQ(set->thread_pointer, 0x1000u + 21);
  EXPECT_EQ(set->registers.pc(), 0x1010u);
  EXPECT_EQ(set->registers.sp(), 0x1013u);
}

TEST(RegisterSet, X8664SaysWhetherTheStopInterruptedAWait) {
  auto bytes = numbered<27>();
  const auto waited = [&](std::int64_t system_call, std::int64_t answer) {
    std::memcpy(bytes.data() + 15 * 8, &system_call, 8);
    std::memcpy(bytes.data() + 10 * 8, &answer, 8);
    const auto set = decode_register_set(Arch::x86_64, bytes);
    return set && set->was_waiting;
  };
  for (const std::int64_t answer : {-512, -513, -514, -516, -4}) {
    EXPECT_TRUE(waited(202, answer)) << answer;
    EXPECT_FALSE(waited(-1, answer)) << answer;
  }
  for (const std::int64_t answer : {0, 1, -1, -3, -5, -11, -511, -515, -517})
    EXPECT_FALSE(waited(202, answer)) << answer;
}

TEST(RegisterSet, WhoIsInNoCallDoesNotSleep) {
  RegisterSet computes, waits;
  waits.syscall = 202;
  waits.was_waiting = true;
  EXPECT_EQ(state_at_stop(computes, -1, 'S'), 'R') << "it slept a moment before";
  EXPECT_EQ(state_at_stop(computes, -1, 'R'), 'R');
  EXPECT_EQ(state_at_stop(computes, -1, 'D'), 'D') << "a page fault";
  EXPECT_EQ(state_at_stop(computes, -1, 'T'), 'T');
  EXPECT_EQ(state_at_stop(waits, 202, 'R'), 'S') << "it ran a moment before";
  EXPECT_EQ(state_at_stop(waits, 202, 'S'), 'S');
  EXPECT_EQ(state_at_stop(computes, 98, 'S'), 'S') << "by its code, on a CPU that does not tell of waits";
}

TEST(RegisterSet, AArch64PutsEveryRegisterInItsPlace) {
  const auto bytes = numbered<34>();
  const auto set = decode_register_set(Arch::aarch64, bytes);
  ASSERT_TRUE(set.has_value());
  for (unsigned r = 0; r <= 30; r++) EXPECT_EQ(set->registers.get(r), 0x1000u + r);
  EXPECT_EQ(set->registers.sp(), 0x1000u + 31);
  EXPECT_EQ(set->registers.pc(), 0x1000u + 32);
  EXPECT_EQ(set->registers.fp(), 0x1000u + 29);
  EXPECT_FALSE(set->registers.is_known(aarch64_reg::ra_sign_state));
  EXPECT_EQ(set->syscall, -1);
}

TEST(RegisterSet, WhatIsEncodedIsDecodedAgain) {
  for (const Arch arch : {Arch::x86_64, Arch::aarch64}) {
    RegisterSet before;
    before.registers = Registers(arch);
    for (unsigned r = 0; r <= arch_registers(arch).pc; r++) before.registers.set(r, 0x1000 + r);
    before.syscall = arch == Arch::x86_64 ? 202 : -1;
    const auto bytes = encode_register_set(before);
    const auto after = decode_register_set(arch, bytes);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->registers, before.registers);
    EXPECT_EQ(after->syscall, before.syscall);
  }
  EXPECT_TRUE(encode_register_set({}).empty());
}

TEST(RegisterSet, AnotherSizeIsAnotherMode) {
  const auto bytes = numbered<34>();
  EXPECT_EQ(decode_register_set(Arch::x86_64, std::span(bytes).first(68)).error(),
            (Error{ErrorCode::unsupported_cpu, 0, 68}));
  EXPECT_EQ(decode_register_set(Arch::aarch64, std::span(bytes).first(72)).error().code, ErrorCode::unsupported_cpu);
  EXPECT_EQ(decode_register_set(Arch::arm, bytes).error().code, ErrorCode::unsupported_cpu);
  EXPECT_FALSE(decode_register_set(Arch::x86_64, {}).has_value());
}

}  // namespace
}  // namespace mixstack::process
