#include "base/arch/system_call_site.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace mixstack::arch {
namespace {

constexpr std::uint32_t kSvc = 0xd4000001, kNop = 0xd503201f;  // Arm ARM: SVC #0, NOP
constexpr std::uint64_t kEintr = ~std::uint64_t{3};

std::int64_t number_at(std::uint32_t before, std::uint32_t at, std::uint64_t x8, std::uint64_t x0) {
  Registers registers(Arch::aarch64);
  registers.set(aarch64_reg::x0 + 8, x8);
  registers.set(aarch64_reg::x0, x0);
  std::array<std::byte, 8> code;
  std::memcpy(code.data(), &before, 4);
  std::memcpy(code.data() + 4, &at, 4);
  return system_call_at(registers, code);
}

TEST(SystemCallSite, ACallThatWillBeMadeAgain) {
  EXPECT_EQ(number_at(kNop, kSvc, 98, 0x1000), 98);
  EXPECT_EQ(number_at(kNop, kNop, 98, 0x1000), -1);
}

TEST(SystemCallSite, BehindACallOnlyWhenItWasInterrupted) {
  EXPECT_EQ(number_at(kSvc, kNop, 22, kEintr), 22);
  EXPECT_EQ(number_at(kSvc, kNop, 22, 0), -1) << "it has returned";
}

TEST(SystemCallSite, NoNumberOfNobodysCall) {
  EXPECT_EQ(number_at(kNop, kSvc, ~std::uint64_t{0}, 0), -1);
  EXPECT_EQ(number_at(kNop, kSvc, 1 << 20, 0), -1);
  Registers none(Arch::aarch64);
  EXPECT_EQ(system_call_at(none, std::array<std::byte, 8>{}), -1);
  EXPECT_EQ(system_call_at(none, {}), -1);
  EXPECT_EQ(system_call_at(Registers(Arch::x86_64), std::array<std::byte, 8>{}), -1);
}

}  // namespace
}  // namespace mixstack::arch
