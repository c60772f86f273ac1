#include "base/system/byte_cursor.h"

#include <gtest/gtest.h>

#include <array>

namespace mixstack::base {
namespace {

template <std::size_t N>
std::span<const std::byte> as_span(const std::array<std::uint8_t, N>& a) {
  return std::as_bytes(std::span(a));
}

TEST(ByteCursor, ReadsLittleEndianInSequence) {
  const std::array<std::uint8_t, 7> a{1, 2, 0, 4, 0, 0, 0};
  ByteCursor c(as_span(a));
  EXPECT_EQ(c.u8(), 1u);
  EXPECT_EQ(c.u16(), 2u);
  EXPECT_EQ(c.u32(), 4u);
  EXPECT_TRUE(c.at_end());
  EXPECT_TRUE(c.ok());
}

TEST(ByteCursor, FailureIsStickyAndReadsZero) {
  const std::array<std::uint8_t, 3> a{0xff, 0xff, 0xff};
  ByteCursor c(as_span(a));
  EXPECT_EQ(c.u32(), 0u);
  EXPECT_FALSE(c.ok());
  EXPECT_EQ(c.u8(), 0u);
}

TEST(ByteCursor, LebExamplesOfDwarf5Section76) {
  const std::array<std::uint8_t, 2> u128{0x80, 0x01};
  EXPECT_EQ(ByteCursor(as_span(u128)).uleb(), 128u);
  const std::array<std::uint8_t, 2> m129{0xff, 0x7e};
  EXPECT_EQ(ByteCursor(as_span(m129)).sleb(), -129);
  const std::array<std::uint8_t, 1> m2{0x7e};
  EXPECT_EQ(ByteCursor(as_span(m2)).sleb(), -2);
}

TEST(ByteCursor, EndlessLebFails) {
  const std::array<std::uint8_t, 11> a{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
  ByteCursor c(as_span(a));
  EXPECT_EQ(c.uleb(), 0u);
  EXPECT_FALSE(c.ok());
}

TEST(ByteCursor, CstringNeedsItsNul) {
  const std::array<std::uint8_t, 4> a{'a', 'b', 0, 'c'};
  ByteCursor c(as_span(a));
  EXPECT_EQ(c.cstring(), "ab");
  EXPECT_EQ(c.cstring(), "");
  EXPECT_FALSE(c.ok());
}

TEST(LoadAt, RefusesWhatLiesOutside) {
  const std::array<std::uint8_t, 4> a{1, 0, 0, 0};
  EXPECT_EQ(load_at<std::uint32_t>(as_span(a), 0), 1u);
  EXPECT_FALSE(load_at<std::uint32_t>(as_span(a), 1));
  EXPECT_FALSE(load_at<std::uint8_t>(as_span(a), ~std::uint64_t{0}));
}

}  // namespace
}  // namespace mixstack::base
