#include "dotnet/heap/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mixstack::dotnet::objects {
namespace {

using names::ElementType;

template <class T>
std::string text(ElementType element, T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return primitive_text(element, bytes);
}

TEST(Values, PrimitiveTypes) {
  EXPECT_EQ(text(ElementType::i4, std::int32_t{-5}), "-5");
  EXPECT_EQ(text(ElementType::u4, std::uint32_t{4'000'000'000}), "4000000000");
  EXPECT_EQ(text(ElementType::i1, std::int8_t{-1}), "-1");
  EXPECT_EQ(text(ElementType::u1, std::uint8_t{200}), "200");
  EXPECT_EQ(text(ElementType::i2, std::int16_t{-3}), "-3");
  EXPECT_EQ(text(ElementType::char_, char16_t{'x'}), "120");
  EXPECT_EQ(text(ElementType::i8, std::int64_t{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(text(ElementType::native_uint, std::uint64_t{UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(text(ElementType::boolean, std::uint8_t{1}), "true");
  EXPECT_EQ(text(ElementType::boolean, std::uint8_t{0}), "false");
  EXPECT_EQ(text(ElementType::r8, 0.1), "0.1");
  EXPECT_EQ(text(ElementType::r4, 2.5f), "2.5");
}

TEST(Values, UpperBytesOfARegisterAreNoPartOfIt) {
  EXPECT_EQ(text(ElementType::i4, std::uint64_t{0xdddddddd'00000007}), "7");
  EXPECT_EQ(text(ElementType::u1, std::uint64_t{0xdddddddd'dddddd07}), "7");
}

TEST(Values, WhatIsNoPrimitive) {
  EXPECT_EQ(text(ElementType::class_, std::uint64_t{7}), "");
  EXPECT_EQ(text(ElementType::i8, std::uint32_t{7}), "") << "too few bytes";
  EXPECT_EQ(primitive_size(ElementType::value_type), 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
