#include "base/arch/clone_return.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/byte_lists.h"

namespace mixstack::arch {
namespace {

using test::bytes_of;

Registers child(Arch arch, Address pc) {
  Registers r(arch);
  r.set_pc(pc);
  r.set(0, 0);
  return r;
}

// glibc 2.36 x86-64, clone3 +25: test %rax,%rax; jl +0x18; je +1; ret.
const auto kClone3 = bytes_of({0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3});

TEST(CloneReturn, FollowsTheChildFromEachInstructionOfClone3) {
  EXPECT_EQ(child_after_clone(child(Arch::x86_64, 0x1000), kClone3), 0x1008u);
  EXPECT_EQ(child_after_clone(child(Arch::x86_64, 0x1003), std::span(kClone3).subspan(3)), 0x1008u);
  EXPECT_EQ(child_after_clone(child(Arch::x86_64, 0x1005), std::span(kClone3).subspan(5)), 0x1008u);
}

TEST(CloneReturn, TheParentIsNoChild) {
  Registers parent = child(Arch::x86_64, 0x1000);
  parent.set(x86_64_reg::rax, 4711);
  EXPECT_FALSE(child_after_clone(parent, kClone3));
}

TEST(CloneReturn, OnlyAThreadWithoutAResultMayBeAChild) {
  for (const Arch arch : {Arch::x86_64, Arch::aarch64}) {
    Registers r = child(arch, 0x1000);
    EXPECT_TRUE(may_be_child_of_clone(r));
    r.set(0, 4711);
    EXPECT_FALSE(may_be_child_of_clone(r));
  }
}

TEST(CloneReturn, OtherCodeIsNotFollowed) {
  EXPECT_FALSE(child_after_clone(child(Arch::x86_64, 0x1000), bytes_of({0xc3, 0x90, 0x90, 0x90})));
  EXPECT_FALSE(child_after_clone(child(Arch::x86_64, 0x1000), {}));
  EXPECT_FALSE(child_after_clone(child(Arch::x86_64, 0x1000), bytes_of({0x74})));
}

// glibc 2.36 AArch64, clone: cmp x0,#0; b.eq +8; ...
TEST(CloneReturn, FollowsTheChildOnAArch64) {
  const auto code = bytes_of({0x1f, 0x00, 0x00, 0xf1, 0x40, 0x00, 0x00, 0x54});
  EXPECT_EQ(child_after_clone(child(Arch::aarch64, 0x2000), code), 0x200cu);
  const auto cbz_x0 = bytes_of({0x40, 0x00, 0x00, 0xb4});
  EXPECT_EQ(child_after_clone(child(Arch::aarch64, 0x2000), cbz_x0), 0x2008u);
  const auto backwards = bytes_of({0xe0, 0xff, 0xff, 0x54});
  EXPECT_EQ(child_after_clone(child(Arch::aarch64, 0x2000), backwards), 0x1ffcu);
}

TEST(CloneReturn, OtherAArch64CodeIsNotFollowed) {
  EXPECT_FALSE(child_after_clone(child(Arch::aarch64, 0x2000), bytes_of({0xc0, 0x03, 0x5f, 0xd6}))) << "ret";
  EXPECT_FALSE(child_after_clone(child(Arch::aarch64, 0x2000), bytes_of({0x41, 0x00, 0x00, 0xb4}))) << "cbz x1";
}

}  // namespace
}  // namespace mixstack::arch
