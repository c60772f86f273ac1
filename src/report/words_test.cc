#include "report/words.h"

#include <gtest/gtest.h>

#include <set>

namespace mixstack::report {
namespace {

TEST(Words, EveryErrorCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (unsigned code = 0; code <= static_cast<unsigned>(ErrorCode::internal); code++) {
    const auto name = error_name(static_cast<ErrorCode>(code));
    EXPECT_NE(name, "unknown") << code;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Words, ErrorsSayTheirValueAndTheSystemsWords) {
  EXPECT_EQ(error_words({ErrorCode::unreadable_memory, 0, 0x7f00}), "memory that cannot be read (0x7f00)");
  EXPECT_EQ(error_words({ErrorCode::io_error, 2, 0}), "input or output failed: No such file or directory");
  EXPECT_EQ(error_words({ErrorCode::contract_unsupported, 0, 9}),
            "a contract version mixstack does not know (version 9)");
}

TEST(Words, EveryStopReasonTrustAndStepperHasWords) {
  for (unsigned i = 0; i <= static_cast<unsigned>(StopReason::not_captured); i++)
    EXPECT_NE(stop_words(static_cast<StopReason>(i)), "unknown reason");
  for (unsigned i = 0; i <= static_cast<unsigned>(Trust::inferred); i++)
    EXPECT_NE(trust_words(static_cast<Trust>(i)), "unknown trust");
  for (unsigned i = 0; i <= static_cast<unsigned>(StepperId::user); i++)
    EXPECT_NE(stepper_words(static_cast<StepperId>(i)), "an unknown stepper");
}

TEST(Words, DurationsReadWell) {
  using namespace std::chrono_literals;
  EXPECT_EQ(duration_words(412us), "412 us");
  EXPECT_EQ(duration_words(1324us), "1.3 ms");
  EXPECT_EQ(duration_words(250ms), "250 ms");
  EXPECT_EQ(duration_words(2040ms), "2.04 s");
}

// The numbers of both CPUs' tables: futex and the last entries, by asm/unistd.h.
TEST(Words, SystemCallsAreThoseOfTheTargetsCpu) {
  EXPECT_EQ(syscall_words(Arch::x86_64, 202), "futex");
  EXPECT_EQ(syscall_words(Arch::aarch64, 98), "futex");
  EXPECT_EQ(syscall_words(Arch::x86_64, 232), "epoll_wait");
  EXPECT_EQ(syscall_words(Arch::x86_64, 450), "set_mempolicy_home_node");
  EXPECT_EQ(syscall_words(Arch::x86_64, 4000), "syscall 4000");
  EXPECT_EQ(syscall_words(Arch::x86, 1), "syscall 1");
  EXPECT_EQ(syscall_words(Arch::x86_64, -1), "");
}

TEST(Words, RegistersHaveTheirPsabiNames) {
  EXPECT_EQ(register_name(Arch::x86_64, x86_64_reg::rbp), "rbp");
  EXPECT_EQ(register_name(Arch::aarch64, aarch64_reg::pc), "pc");
  EXPECT_EQ(register_name(Arch::aarch64, 29), "x29");
  EXPECT_EQ(register_name(Arch::x86_64, 30), "r30");
}

}  // namespace
}  // namespace mixstack::report
