#include "dotnet/code/inlining_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mixstack::dotnet {
namespace {

using Bytes = std::vector<std::byte>;
using Words = std::vector<std::uint32_t>;

void put(Bytes& out, std::uint32_t number) {
  const auto byte = [&out](std::uint32_t b) { out.push_back(static_cast<std::byte>(b)); };
  if (number < 0x80) return byte(number << 1);
  if (number < 0x4000) {
    byte((number << 2 | 1) & 0xff);
    return byte(number >> 6);
  }
  byte(0x0f);
  for (unsigned shift = 0; shift < 32; shift += 8) byte(number >> shift & 0xff);
}

/// A hash table of one bucket, whose entries lie behind it.
Bytes section(const std::vector<Words>& entries) {
  Bytes lists;
  std::vector<std::size_t> places;
  for (const Words& words : entries) {
    places.push_back(lists.size());
    put(lists, static_cast<std::uint32_t>(words.size()));
    for (const std::uint32_t w : words) put(lists, w);
  }
  // Distances take two bytes here: ((distance << 2) | 1).
  const std::size_t bucket = 3 * entries.size();
  Bytes out{std::byte{0}, std::byte{2}, static_cast<std::byte>(2 + bucket)};
  for (const std::size_t place : places) {
    out.push_back(std::byte{0xab});
    const std::size_t here = out.size(), distance = 3 + bucket + place - here;
    out.push_back(static_cast<std::byte>((distance << 2 | 1) & 0xff));
    out.push_back(static_cast<std::byte>(distance >> 6));
  }
  out.insert(out.end(), lists.begin(), lists.end());
  return out;
}

TEST(InliningTable, OfAnImageThatStandsAlone) {
  // Row 5 is in 7 and in 7 + 300; row 6 of another version bubble in 9; row 8 in one of that and in 20000.
  const auto table =
      InliningTable::decode(section({{5 << 2, 7, 300}, {6 << 2 | 1, 9}, {8 << 2 | 2, 1, 77, 20000}}), false);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->holds(5, 7));
  EXPECT_TRUE(table->holds(5, 307));
  EXPECT_TRUE(table->holds(8, 20000));
  EXPECT_FALSE(table->holds(7, 5));
  EXPECT_FALSE(table->holds(6, 9)) << "a row of something else";
  EXPECT_FALSE(table->holds(8, 77));
  ASSERT_EQ(table->into(7).size(), 1u);
  EXPECT_EQ(table->into(7).front(), 5u);
  EXPECT_TRUE(table->into(8).empty());
}

TEST(InliningTable, OfAnImageThatIsOneOfSeveral) {
  // Row 5 in 7, in 10 of module 3, in 12; row 6 of module 2 in 7.
  const auto table =
      InliningTable::decode(section({{5 << 2, 0, 7 << 1, 3 << 1 | 1, 3, 2 << 1}, {6 << 2, 2, 7 << 1}}), true);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->holds(5, 7));
  EXPECT_FALSE(table->holds(5, 10)) << "another module's";
  EXPECT_TRUE(table->holds(5, 12)) << "counted on from there";
  EXPECT_FALSE(table->holds(6, 7));
  EXPECT_EQ(table->into(7).size(), 1u);
}

TEST(InliningTable, SeveralInOne) {
  const auto table = InliningTable::decode(section({{9 << 2, 7, 1}, {5 << 2, 7}, {6 << 2, 8, 4}}), false);
  ASSERT_TRUE(table);
  const auto rows = table->into(7);
  std::vector<std::uint32_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, (Words{5, 9}));
  EXPECT_EQ(table->into(8).size(), 2u);
  EXPECT_TRUE(table->into(0).empty());
  EXPECT_TRUE(table->into(9).empty());
  EXPECT_EQ(table->into(12).size(), 1u) << "the last row";
  EXPECT_TRUE(table->into(13).empty());
  EXPECT_TRUE(table->into(0xffffffff).empty());
  EXPECT_EQ(InliningTable::decode(section({{5 << 2, InliningTable::kMaxRows}}), false).error().code,
            ErrorCode::limit_exceeded);
}

TEST(InliningTable, DamagedOnes) {
  EXPECT_EQ(InliningTable::decode({}, false).error().code, ErrorCode::truncated);
  Bytes bytes = section({{5 << 2, 7}});
  for (std::size_t size = 0; size < bytes.size(); size++)
    EXPECT_FALSE(InliningTable::decode(std::span(bytes).first(size), false)) << size;
  Bytes many_buckets = bytes;
  many_buckets[0] = std::byte{30 << 2};
  EXPECT_EQ(InliningTable::decode(many_buckets, false).error().code, ErrorCode::malformed);
  Bytes backwards = bytes;
  backwards[2] = std::byte{1};
  EXPECT_EQ(InliningTable::decode(backwards, false).error().code, ErrorCode::malformed);
  // Many entries that name the same numbers over and over: more of them than bytes.
  Bytes echo{std::byte{0}, std::byte{2}, std::byte{202}};
  for (unsigned n = 0; n < 100; n++) {
    echo.push_back(std::byte{1});
    echo.push_back(static_cast<std::byte>((204 - (3 + 2 * n + 1)) << 1));
  }
  for (unsigned n = 0; n < 63; n++) echo.push_back(std::byte{60 << 1});
  EXPECT_FALSE(InliningTable::decode(echo, false));
  EXPECT_FALSE(InliningTable::decode(Bytes(InliningTable::kMaxSection + 1), false));
  // A list that says it is longer than what it holds, and counts that lead behind its end, are passed over.
  EXPECT_TRUE(InliningTable::decode(section({{}, {5 << 2}, {5 << 2 | 2, 9}}), false));
  EXPECT_TRUE(InliningTable::decode(section({{5 << 2}, {5 << 2, 0, 3}}), true));
}

}  // namespace
}  // namespace mixstack::dotnet
