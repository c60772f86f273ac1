#include "target/vector_set.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::target {
namespace {

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

TEST(VectorSet, XmmRegistersLieBehindTheX87Stack) {
  const auto bytes = counted(512);
  const auto set = decode_fp_registers(Arch::x86_64, bytes);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->size, 16);
  ASSERT_EQ(set->values.size(), 16u);
  EXPECT_EQ(set->values[0][0], bytes[160]);
  EXPECT_EQ(set->values[15][15], bytes[160 + 16 * 16 - 1]);
  EXPECT_FALSE(decode_fp_registers(Arch::x86_64, counted(511)));
}

TEST(VectorSet, NeonRegistersComeFirst) {
  const auto bytes = counted(528);
  const auto set = decode_fp_registers(Arch::aarch64, bytes);
  ASSERT_TRUE(set);
  ASSERT_EQ(set->values.size(), 32u);
  EXPECT_EQ(set->values[31][0], bytes[31 * 16]);
  EXPECT_FALSE(decode_fp_registers(Arch::aarch64, counted(100)));
  EXPECT_FALSE(decode_fp_registers(Arch::unknown, counted(528)));
}

TEST(VectorSet, UpperHalvesOnlyWhereTheyAreSaved) {
  auto bytes = counted(576 + 256);
  std::fill_n(bytes.begin() + 512, 8, std::byte{0});
  EXPECT_EQ(decode_xstate(bytes)->size, 16);
  bytes[512] = std::byte{7};  // x87, SSE, AVX
  const auto set = decode_xstate(bytes);
  EXPECT_EQ(set->size, 32);
  EXPECT_EQ(set->values[3][16], bytes[576 + 3 * 16]);
  EXPECT_EQ(set->values[3][0], bytes[160 + 3 * 16]);
  bytes.resize(600);
  EXPECT_EQ(decode_xstate(bytes)->size, 16);
}

}  // namespace
}  // namespace mixstack::target
