#include "process/kernel/vector_set.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/memory/buffer_memory.h"

namespace mixstack::process {
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
  EXPECT_EQ(x86_64::decode_xstate(bytes)->size, 16);
  bytes[512] = std::byte{7};  // x87, SSE, AVX
  const auto set = x86_64::decode_xstate(bytes);
  EXPECT_EQ(set->size, 32);
  EXPECT_EQ(set->values[3][16], bytes[576 + 3 * 16]);
  EXPECT_EQ(set->values[3][0], bytes[160 + 3 * 16]);
  bytes.resize(600);
  EXPECT_EQ(x86_64::decode_xstate(bytes)->size, 16);
}

TEST(VectorSet, OfPtraceAreEitherNote) {
  EXPECT_EQ(decode_vectors(Arch::x86_64, counted(512))->size, 16);
  EXPECT_EQ(decode_vectors(Arch::aarch64, counted(528))->values.size(), 32u);
  EXPECT_FALSE(decode_vectors(Arch::x86_64, {}));
  EXPECT_FALSE(decode_vectors(Arch::unknown, counted(528)));
}

TEST(VectorSet, OfInterruptedCodeAreBehindThePointerInTheContext) {
  constexpr Address kSp = 0x7000, kState = 0x9000;
  auto area = counted(kVectorSetBytes);
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(area.data() + offset, &value, sizeof value); };
  put(464, std::uint32_t{0x46505853});
  put(512, std::uint64_t{7});
  memory::BufferMemory memory;
  memory.add_value(kSp + 224, kState);
  memory.add(kState, area);
  EXPECT_EQ(read_interrupted_vectors(Arch::x86_64, memory, kSp)->size, 32);
  put(464, 0);
  memory.add(kState, area);
  const auto plain = read_interrupted_vectors(Arch::x86_64, memory, kSp);
  EXPECT_EQ(plain->size, 16);
  EXPECT_EQ(plain->values[1][0], area[160 + 16]);
  memory.add(kState, std::span(area).first(100));
  EXPECT_EQ(read_interrupted_vectors(Arch::x86_64, memory, kSp), nullptr);
  memory.add_value(kSp + 224, Address{0});
  EXPECT_EQ(read_interrupted_vectors(Arch::x86_64, memory, kSp), nullptr);
}

TEST(VectorSet, OfInterruptedArmCodeAreARecordAmongOthers) {
  constexpr Address kSp = 0x7000, kRecords = kSp + 592;
  auto records = counted(16 + 528);
  const auto put = [&](std::size_t offset, std::uint32_t value) {
    std::memcpy(records.data() + offset, &value, sizeof value);
  };
  put(0, 0x45535201);  // ESR_MAGIC
  put(4, 16);
  put(16, 0x46508001);
  put(20, 528);
  memory::BufferMemory memory;
  memory.add(kRecords, records);
  const auto set = read_interrupted_vectors(Arch::aarch64, memory, kSp);
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->values[0][0], records[32]);
  EXPECT_EQ(set->values[31][15], records[16 + 528 - 1]);
  put(4, 0);  // leads nowhere
  memory.add(kRecords, records);
  EXPECT_EQ(read_interrupted_vectors(Arch::aarch64, memory, kSp), nullptr);
  put(4, 0x10000);
  memory.add(kRecords, records);
  EXPECT_EQ(read_interrupted_vectors(Arch::aarch64, memory, kSp), nullptr);
}

}  // namespace
}  // namespace mixstack::process
