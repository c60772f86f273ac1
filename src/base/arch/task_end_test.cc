#include "base/arch/task_end.h"

#include <gtest/gtest.h>

#include "support/byte_lists.h"

namespace mixstack::arch {
namespace {

using test::bytes_of;
using test::words_of;

TEST(TaskEnd, OfX8664) {
  // musl 1.2.3: mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall; hlt
  const auto musl = bytes_of({0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4});
  EXPECT_TRUE(ends_task(Arch::x86_64, musl));
  // glibc 2.36: mov %rax,%rdi; mov $60,%eax; syscall
  EXPECT_TRUE(ends_task(Arch::x86_64, bytes_of({0x48, 0x89, 0xc7, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05})));
  EXPECT_TRUE(ends_task(Arch::x86_64, bytes_of({0x89, 0xc7, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05}))) << "exit_group";
  EXPECT_FALSE(ends_task(Arch::x86_64, bytes_of({0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3d, 0x0f, 0x05}))) << "wait4";
  EXPECT_FALSE(ends_task(Arch::x86_64, bytes_of({0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05}))) << "not the result";
  for (std::size_t n = 0; n < 8; n++) EXPECT_FALSE(ends_task(Arch::x86_64, std::span(musl).first(n))) << n;
}

TEST(TaskEnd, OfAarch64) {
  const auto musl = words_of({0xd2800ba8, 0xd4000001});  // mov x8, #93; svc #0
  EXPECT_TRUE(ends_task(Arch::aarch64, musl));
  EXPECT_TRUE(ends_task(Arch::aarch64, words_of({0xd2800bc8, 0xd4000001})));
  EXPECT_FALSE(ends_task(Arch::aarch64, words_of({0xd2800be8, 0xd4000001})));
  EXPECT_FALSE(ends_task(Arch::aarch64, std::span(musl).first(4)));
  EXPECT_FALSE(ends_task(Arch::unknown, musl));
}

}  // namespace
}  // namespace mixstack::arch
