#include "dotnet/code/nibble_map.h"

#include <gtest/gtest.h>

#include <random>

#include "support/sparse_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kBase = 0x7f0000000000, kMap = 0x100000;

struct Method {
  std::uint64_t start, size;
};

// The runtime's writer, from the description in ExecutionManager.md.
test::SparseMemory write_map(const std::vector<Method>& methods, std::uint64_t heap_size, NibbleMapForm form) {
  std::vector<std::uint32_t> units(heap_size / 256 + 2);
  for (const Method& m : methods) {
    units[m.start / 256] |= static_cast<std::uint32_t>((m.start % 32) / 4 + 1) << (28 - 4 * (m.start / 32 % 8));
    if (form == NibbleMapForm::linear) continue;
    const auto pointer = static_cast<std::uint32_t>((m.start & ~15ull) + ((m.start & 15) >> 2) + 9);
    for (std::uint64_t i = m.start / 256 + 1; (i + 1) * 256 <= m.start + m.size; i++) units[i] = pointer;
  }
  test::SparseMemory memory;
  memory.put_bytes(kMap, std::as_bytes(std::span(units)));
  return memory;
}

class NibbleMapVersions : public ::testing::TestWithParam<NibbleMapForm> {};

TEST_P(NibbleMapVersions, FindsTheMethodOfEveryAddressOfRandomHeaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; round++) {
    std::vector<Method> methods;
    std::uint64_t at = 0;
    while (at < 60000) {
      // At most one method starts in each 32 bytes; starts are 4-aligned.
      const std::uint64_t size = 4 * (1 + random() % (random() % 5 == 0 ? 2000 : 60));
      methods.push_back({at, size});
      at = (at + size + 31) / 32 * 32 + 4 * (random() % 8);
    }
    const auto memory = write_map(methods, 1 << 17, GetParam());
    const NibbleMap map{GetParam(), kBase, kMap};
    for (const Method& m : methods)
      for (std::uint64_t o = 0; o < m.size; o += 1 + random() % 24) {
        auto start = map.method_start(memory, kBase + m.start + o);
        ASSERT_TRUE(start) << m.start << "+" << o;
        ASSERT_EQ(*start, kBase + m.start) << "offset " << o;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, NibbleMapVersions,
                         ::testing::Values(NibbleMapForm::linear, NibbleMapForm::constant_time));

TEST(NibbleMap, FindsNothingBeforeTheFirstMethod) {
  const auto memory = write_map({{512, 64}}, 4096, NibbleMapForm::constant_time);
  const NibbleMap map{NibbleMapForm::constant_time, kBase, kMap};
  EXPECT_EQ(map.method_start(memory, kBase + 100).error().code, ErrorCode::not_found);
  EXPECT_EQ(map.method_start(memory, kBase - 100).error().code, ErrorCode::not_found);
  EXPECT_EQ(map.method_start(memory, kBase + 508).error().code, ErrorCode::not_found);
  EXPECT_EQ(map.method_start(memory, kBase + 512).value(), kBase + 512);
}

TEST(NibbleMap, RefusesPointersThatDoNotPointBack) {
  test::SparseMemory memory;
  memory.put_u32(kMap, 0xfffffff9u);
  const NibbleMap map{NibbleMapForm::constant_time, kBase, kMap};
  EXPECT_EQ(map.method_start(memory, kBase + 16).error().code, ErrorCode::malformed);
  EXPECT_EQ(map.method_start(memory, kBase + (1ull << 33)).error().code, ErrorCode::not_found);
  EXPECT_EQ(map.method_start(memory, kBase + (1u << 30)).error().code, ErrorCode::unreadable_memory);
}

}  // namespace
}  // namespace mixstack::dotnet
