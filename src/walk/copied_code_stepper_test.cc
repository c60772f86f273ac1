#include "walk/copied_code_stepper.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::walk {
namespace {

std::vector<std::byte> bytes(std::initializer_list<unsigned> list) {
  std::vector<std::byte> v;
  for (unsigned b : list) v.push_back(static_cast<std::byte>(b));
  return v;
}

// mov %rsi,(%rdi); movabs $imm,%rax; ret
const auto kBarrier = bytes({0x48, 0x89, 0x37, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3});
const auto kPatched = bytes({0x48, 0x89, 0x37, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3});

TEST(CopiedCode, ImmediatesMayDiffer) { EXPECT_TRUE(equal_up_to_immediates(kBarrier, kPatched)); }

TEST(CopiedCode, NothingElseMay) {
  auto other = kPatched;
  other[0] = std::byte{0x49};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other));
  other = kPatched;
  other[13] = std::byte{0xcc};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other));
  other = kPatched;
  other[4] = std::byte{0xb9};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other)) << "another register";
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, std::span(kPatched).first(13)));
}

}  // namespace
}  // namespace mixstack::walk
