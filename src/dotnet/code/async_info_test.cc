#include "dotnet/code/async_info.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet {
namespace {

/// Writes numbers as the runtime does.
class NibbleWriter {
 public:
  NibbleWriter& number(std::uint32_t value) {
    unsigned digits = 1;
    while (digits < 11 && value >> 3 * digits != 0) digits++;
    while (digits-- > 0) nibble((value >> 3 * digits & 7) | (digits > 0 ? 8 : 0));
    return *this;
  }
  std::vector<std::byte> bytes;

 private:
  void nibble(std::uint32_t value) {
    if (!is_high_) bytes.push_back(std::byte(value));
    if (is_high_) bytes.back() |= std::byte(value << 4);
    is_high_ = !is_high_;
  }
  bool is_high_ = false;
};

// `Innermost` of a real .NET 11: one point, `order`, `tag` and `big`.
TEST(AsyncInfo, PointsWithTheirVariables) {
  NibbleWriter w;
  w.number(2).number(4).number(0xe6 << 1).number(3).number(0x10 << 1 | 1).number(1);
  for (const std::uint32_t n : {7u, 56u, 9u, 64u, 10u, 72u, 6u, 44u}) w.number(n);
  const auto points = decode_async_info(w.bytes);
  ASSERT_TRUE(points.has_value());
  EXPECT_EQ(*points, (std::vector<SuspensionPoint>{{0xe6, {{1, 56}, {3, 64}, {4, 72}}}, {0xd6, {{0, 44}}}}));
}

TEST(AsyncInfo, WhatIsNoneIsRefused) {
  const auto error_of = [](const NibbleWriter& w) {
    const auto points = decode_async_info(w.bytes);
    return points ? ErrorCode::none : points.error().code;
  };
  EXPECT_EQ(error_of(NibbleWriter()), ErrorCode::truncated);
  EXPECT_EQ(error_of(NibbleWriter().number(1u << 20).number(0)), ErrorCode::limit_exceeded);
  EXPECT_EQ(error_of(NibbleWriter().number(1000).number(0)), ErrorCode::truncated);
  EXPECT_EQ(error_of(NibbleWriter().number(1).number(1).number(8).number(2).number(6).number(32)),
            ErrorCode::malformed);
  EXPECT_EQ(error_of(NibbleWriter().number(1).number(0).number(3).number(0).number(0)), ErrorCode::malformed);
  EXPECT_EQ(error_of(NibbleWriter().number(1).number(1).number(8).number(1).number(6).number(1u << 24)),
            ErrorCode::malformed);
}

}  // namespace
}  // namespace mixstack::dotnet
