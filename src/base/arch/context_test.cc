#include "base/arch/context.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/arch/cpu.h"
#include "base/arch/user_context.h"

namespace mixstack::arch {
namespace {

Registers numbered(Arch arch) {
  Registers r(arch);
  for (const auto& c : context_layout(arch)->registers) r.set(c.reg, 0x11111111u * (c.reg % 14 + 1));
  return r;
}

std::uint64_t word(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t size) {
  std::uint64_t v = 0;
  std::memcpy(&v, bytes.data() + offset, size);
  return v;
}

std::vector<std::byte> records(std::initializer_list<std::array<std::uint32_t, 4>> all) {
  std::vector<std::byte> bytes;
  for (const auto& r : all) {
    const auto piece = std::as_bytes(std::span(r));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

// {magic, size, bytes of a vector and flags, reserved}, behind the record of the floating-point registers (16 bytes of
// it)
TEST(UserContext, HowLongVectorsAre) {
  constexpr std::uint32_t kFpsimd = 0x46508001, kSve = 0x53564501;
  const VectorLength& of = cpu(Arch::aarch64).vector_length;
  EXPECT_EQ(vector_words(of, records({{kFpsimd, 16}, {kSve, 16, 64}, {0, 0}})), 8u);
  EXPECT_EQ(vector_words(of, records({{kFpsimd, 16}, {0, 0}, {kSve, 16, 64}})), std::nullopt) << "behind the last one";
  EXPECT_EQ(vector_words(of, records({{kFpsimd, 16}, {kSve, 16, 7}})), std::nullopt);
  for (const std::uint32_t size : {0u, 8u, 4096u, ~0u})
    EXPECT_EQ(vector_words(of, records({{kFpsimd, size}, {kSve, 16, 64}})), std::nullopt) << size;
  EXPECT_EQ(vector_words(of, {}), std::nullopt);
}

class EveryArch : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Context, EveryArch, testing::Values(Arch::x86_64, Arch::aarch64, Arch::x86, Arch::arm));

TEST_P(EveryArch, DecodesWhatItEncodes) {
  const Registers r = numbered(GetParam());
  std::vector<std::byte> bytes(context_layout(GetParam())->size);
  ASSERT_TRUE(encode_context(r, bytes));
  const auto back = decode_context(GetParam(), bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, r);
  EXPECT_EQ(*context_flags(GetParam(), bytes), context_layout(GetParam())->flags_full);
}

TEST_P(EveryArch, WritesZeroForEverythingUnknown) {
  const ContextLayout& layout = *context_layout(GetParam());
  Registers r(GetParam());
  r.set_pc(0x1234);
  r.set_sp(0x5678);
  std::vector<std::byte> bytes(layout.size + 8, std::byte{0xee});
  ASSERT_EQ(*encode_context(r, bytes), layout.size);
  std::size_t set = 0;
  for (std::size_t i = 0; i < layout.size; i++) set += bytes[i] != std::byte{0} ? 1 : 0;
  EXPECT_EQ(set, 4u + 2u);  // 0x1234, 0x5678, two bytes of ContextFlags
  for (std::size_t i = layout.size; i < bytes.size(); i++) EXPECT_EQ(bytes[i], std::byte{0xee});
}

TEST_P(EveryArch, RefusesShortBuffers) {
  const std::size_t size = context_layout(GetParam())->size;
  std::vector<std::byte> bytes(size - 1);
  EXPECT_EQ(encode_context(numbered(GetParam()), bytes).error().value, size);
  EXPECT_EQ(decode_context(GetParam(), bytes).error().code, ErrorCode::truncated);
  EXPECT_FALSE(context_flags(GetParam(), {}));
}

TEST_P(EveryArch, EveryRegisterHasANameAndLiesInside) {
  const ContextLayout& layout = *context_layout(GetParam());
  for (const auto& r : layout.registers) {
    EXPECT_FALSE(register_name(GetParam(), r.reg).empty());
    EXPECT_LE(r.offset + layout.register_size, layout.size);
  }
  EXPECT_TRUE(register_name(GetParam(), 99).empty());
}

TEST(Context, SizesAreExact) {
  EXPECT_EQ(context_layout(Arch::x86_64)->size, 1232u);
  EXPECT_EQ(context_layout(Arch::aarch64)->size, 912u);
  EXPECT_EQ(context_layout(Arch::x86)->size, 716u);
  EXPECT_EQ(context_layout(Arch::arm)->size, 416u);
  EXPECT_EQ(context_layout(Arch::unknown), nullptr);
  EXPECT_EQ(encode_context(Registers(), {}).error().code, ErrorCode::unsupported_cpu);
}

// Offsets as <winnt.h> has them.
TEST(Context, KnownOffsets) {
  std::vector<std::byte> bytes(1232);
  Registers amd64(Arch::x86_64);
  amd64.set(x86_64_reg::rsi, 0x51);
  amd64.set(x86_64_reg::r15, 0x15);
  amd64.set_pc(0x99);
  ASSERT_TRUE(encode_context(amd64, bytes, 0x10001f));
  EXPECT_EQ(word(bytes, 0x30, 4), 0x10001fu);
  EXPECT_EQ(word(bytes, 0xa8, 8), 0x51u);
  EXPECT_EQ(word(bytes, 0xf0, 8), 0x15u);
  EXPECT_EQ(word(bytes, 0xf8, 8), 0x99u);
  Registers arm64(Arch::aarch64);
  arm64.set(aarch64_reg::lr, 0x30);
  arm64.set_sp(0x31);
  arm64.set_pc(0x32);
  ASSERT_TRUE(encode_context(arm64, bytes));
  EXPECT_EQ(word(bytes, 0, 4), 0x400007u);
  EXPECT_EQ(word(bytes, 0xf8, 8), 0x30u);
  EXPECT_EQ(word(bytes, 0x100, 8), 0x31u);
  EXPECT_EQ(word(bytes, 0x108, 8), 0x32u);
}

TEST(CallingConvention, Sets) {
  using namespace x86_64_reg;
  const std::uint64_t unix_set = bit(rbx) | bit(rbp) | bit(r12) | bit(r13) | bit(r14) | bit(r15);
  EXPECT_EQ(cpu(Arch::x86_64).preserved.platform_unix, unix_set);
  EXPECT_EQ(cpu(Arch::x86_64).preserved.coreclr_windows, unix_set | bit(rsi) | bit(rdi));
  EXPECT_EQ(cpu(Arch::aarch64).preserved.platform_unix, 0x3ff80000u);
  EXPECT_EQ(cpu(Arch::aarch64).preserved.coreclr_unix, 0x7ff80000u);
  EXPECT_EQ(cpu(Arch::arm).preserved.coreclr_unix, 0x4ff0u);
  EXPECT_EQ(cpu(Arch::x86).preserved.platform_unix, 0xe8u);
  EXPECT_EQ(cpu(Arch::unknown).preserved.platform_unix, 0u);
}

}  // namespace
}  // namespace mixstack::arch
