#include "dotnet/heap/page_store.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::dotnet::objects {
namespace {

TEST(PageStore, KeepsWhatItReadOnce) {
  test::SparseMemory memory;
  memory.put_u64(0x5000, 1);
  const PageStore store(memory);
  EXPECT_EQ(store.read<std::uint64_t>(0x5000).value_or(0), 1U);
  memory.put_u64(0x5000, 2);
  EXPECT_EQ(store.read<std::uint64_t>(0x5000).value_or(0), 1U);
}

TEST(PageStore, ReadsAcrossPagesAndEndsAtHoles) {
  test::SparseMemory memory;
  memory.put_u64(0x5ff8, 7);
  memory.put_u64(0x6000, 8);
  const PageStore store(memory);
  std::array<std::byte, 16> bytes{};
  EXPECT_EQ(store.read_some(0x5ff8, bytes).value_or(0), 16U);
  EXPECT_EQ(store.read_some(0x6ff8, bytes).value_or(0), 8U);
  EXPECT_FALSE(store.read_some(0x7000, bytes).has_value());
  EXPECT_FALSE(store.read<std::uint64_t>(~Address{0} - 3).has_value());
}

TEST(PageStore, TakesWholePagesOutOfBytesThatWereRead) {
  test::SparseMemory memory;
  memory.put_u64(0x5000, 1);
  memory.put_u64(0x6000, 1);
  PageStore store(memory);
  std::vector<std::byte> bytes(0x1800, std::byte{9});
  store.keep(0x5010, 8, 0x5000, bytes);
  store.keep(0x6010, 8, 0x5000, bytes);  // not all of that page
  EXPECT_EQ(store.read<std::uint8_t>(0x5000).value_or(0), 9U);
  EXPECT_EQ(store.read<std::uint8_t>(0x6000).value_or(0), 1U);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
