#include "base/system/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mixstack::base {
namespace {

TEST(Number, IsAllOfTheText) {
  EXPECT_EQ(number<std::uint32_t>("4711"), 4711u);
  EXPECT_EQ(number<std::uint64_t>("ff", 16), 255u);
  EXPECT_EQ(number<std::int64_t>("-1"), -1);
  EXPECT_FALSE(number<std::uint32_t>(""));
  EXPECT_FALSE(number<std::uint32_t>("4711 ")) << "something stands behind it";
  EXPECT_FALSE(number<std::uint32_t>("4294967296")) << "too large";
  EXPECT_FALSE(number<std::uint32_t>("-1"));
}

TEST(Number, LeadsAText) {
  EXPECT_EQ(leading_number<std::uint64_t>("12 34\n"), 12u);
  EXPECT_EQ(leading_number<std::uint64_t>("\t 12\n"), 12u);
  EXPECT_EQ(leading_number<int>("-1 0x0"), -1);
  EXPECT_EQ(leading_number<std::uint64_t>("fffe rest", 16), 0xfffeu);
  EXPECT_FALSE(leading_number<std::uint64_t>("running"));
  EXPECT_FALSE(leading_number<std::uint64_t>(" "));
  EXPECT_FALSE(leading_number<std::uint8_t>("256")) << "too large";
}

}  // namespace
}  // namespace mixstack::base
