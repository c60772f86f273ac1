#include "dotnet/heap/gc_desc.h"

#include <gtest/gtest.h>

#include <map>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint32_t kReferences = 0x01000000, kComponents = 0x80000000;

class GcDescTest : public ::testing::Test {
 protected:
  /// A MethodTable with these words before it, the nearest first.
  Address table(std::uint32_t flags, const std::vector<std::uint64_t>& before) {
    const Address at = next_ + 0x800;
    next_ += 0x1000;
    heap_.memory.map(at - 0x800, 0x1000);
    heap_.memory.put_u32(at + heap_.layouts.method_table.flags.offset, flags);
    for (std::size_t i = 0; i < before.size(); i++) heap_.memory.put_u64(at - 8 * (i + 1), before[i]);
    return at;
  }
  /// Offset and value of each reference of an object whose words are their own numbers.
  static std::map<std::uint64_t, std::uint64_t> visit(const GcDesc& desc, std::size_t words) {
    std::vector<std::uint64_t> object(words);
    for (std::size_t i = 0; i < words; i++) object[i] = i;
    std::map<std::uint64_t, std::uint64_t> found;
    desc.visit(std::as_bytes(std::span(object)), words * 8,
               [&](std::uint64_t offset, std::uint64_t value) { found[offset] = value; });
    return found;
  }
  std::optional<GcDesc> read(Address at) { return GcDesc::read(heap_.runtime(), at); }

  test::FakeHeap heap_;
  Address next_ = 0x7e0000000000;
};

TEST_F(GcDescTest, TypesWithoutReferences) {
  const auto desc = read(table(0, {}));
  ASSERT_TRUE(desc);
  EXPECT_TRUE(desc->empty());
  EXPECT_TRUE(visit(*desc, 8).empty());
}

TEST_F(GcDescTest, RunsOfFields) {
  // An object of 56 bytes: words 1 and 2, and word 5.
  const auto desc = read(table(kReferences, {2, 8, 16 - 56ull, 40, 8 - 56ull}));
  ASSERT_TRUE(desc);
  EXPECT_EQ(visit(*desc, 7), (std::map<std::uint64_t, std::uint64_t>{{8, 1}, {16, 2}, {40, 5}}));
}

TEST_F(GcDescTest, ArraysOfReferencesGrow) {
  const auto desc = read(table(kReferences | kComponents | 8, {1, 16, 0 - 24ull}));
  ASSERT_TRUE(desc);
  EXPECT_EQ(visit(*desc, 6), (std::map<std::uint64_t, std::uint64_t>{{16, 2}, {24, 3}, {32, 4}}));
  EXPECT_TRUE(visit(*desc, 3).empty());
}

TEST_F(GcDescTest, ArraysOfStructs) {
  // Elements of 24 bytes: a number, then a reference, then a number.
  const auto desc = read(table(kReferences | kComponents | 24, {0 - 1ull, 24, 1 | 16ull << 32}));
  ASSERT_TRUE(desc);
  EXPECT_EQ(visit(*desc, 9), (std::map<std::uint64_t, std::uint64_t>{{24, 3}, {48, 6}}));
  // Two pairs: one reference and 8 bytes, two references.
  const auto two = read(table(kReferences | kComponents | 32, {0 - 2ull, 16, 1 | 8ull << 32, 2}));
  ASSERT_TRUE(two);
  EXPECT_EQ(visit(*two, 7), (std::map<std::uint64_t, std::uint64_t>{{16, 2}, {32, 4}, {40, 5}}));
}

TEST_F(GcDescTest, WhatContradictsItselfIsNone) {
  for (const auto& before : std::vector<std::vector<std::uint64_t>>{{0},                // no series
                                                                    {1ull << 20},       // too many
                                                                    {1, 4, 0 - 24ull},  // not aligned
                                                                    {1, 0, 0 - 24ull},  // the MethodTable itself
                                                                    {1, 16, 8},         // longer than its object
                                                                    {1, 1ull << 40, 0 - 24ull},  // beyond any object
                                                                    {0 - 1ull, 16, 0},           // no progress
                                                                    {0 - 1ull, 16, 1 | 4ull << 32},  // not aligned
                                                                    {0 - 1ull, 16, 7}})  // not the size of an element
    EXPECT_FALSE(read(table(kReferences | kComponents | 24, before))) << before.at(0);
  EXPECT_FALSE(read(0x7d0000000000));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
