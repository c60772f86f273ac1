#include "output/report/words.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

TEST(Words, DurationsReadWell) {
  using namespace std::chrono_literals;
  EXPECT_EQ(duration_words(412us), "412 us");
  EXPECT_EQ(duration_words(1324us), "1.3 ms");
  EXPECT_EQ(duration_words(250ms), "250 ms");
  EXPECT_EQ(duration_words(2040ms), "2.04 s");
}

TEST(Words, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(counted(0, "sample"), "0 samples");
  EXPECT_EQ(counted(1, "sample"), "1 sample");
  EXPECT_EQ(counted(1, "box", "boxes"), "1 box");
  EXPECT_EQ(counted(2, "box", "boxes"), "2 boxes");
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
