#include "base/arch/pause.h"

#include <gtest/gtest.h>

#include "support/byte_lists.h"

namespace mixstack::arch {
namespace {

using test::bytes_of;
using test::words_of;

TEST(Pause, OfX8664) {
  // add $1,%rdx; pause; cmp %rcx,%rdx; jb
  const auto loop = bytes_of({0x48, 0x83, 0xc2, 0x01, 0xf3, 0x90, 0x48, 0x39, 0xca, 0x72, 0xf5});
  EXPECT_TRUE(pauses(Arch::x86_64, loop));
  EXPECT_TRUE(pauses(Arch::x86_64, bytes_of({0xf3, 0x90})));
  EXPECT_FALSE(pauses(Arch::x86_64, std::span(loop).first(5)));
  EXPECT_FALSE(pauses(Arch::x86_64, bytes_of({0x90, 0xf3, 0x0f, 0x90}))) << "nop";
  EXPECT_FALSE(pauses(Arch::x86_64, {}));
}

TEST(Pause, OfAarch64) {
  EXPECT_TRUE(pauses(Arch::aarch64, words_of({0xf1000400, 0xd503203f, 0x54ffffc1}))) << "subs; yield; b.ne";
  EXPECT_TRUE(pauses(Arch::aarch64, words_of({0xd5033fdf}))) << "isb";
  EXPECT_FALSE(pauses(Arch::aarch64, words_of({0xd503201f, 0xd5033bbf}))) << "nop; dmb";
  EXPECT_FALSE(pauses(Arch::x86, words_of({0xd503203f}))) << "its stacks are not walked";
}

}  // namespace
}  // namespace mixstack::arch
