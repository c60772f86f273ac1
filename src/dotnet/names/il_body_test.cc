#include "dotnet/names/il_body.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet::names {
namespace {

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (const unsigned v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

TEST(IlBody, TinyAndFatHeaders) {
  const auto tiny = read_il_header(bytes({0x1e}));
  ASSERT_TRUE(tiny);
  EXPECT_EQ(tiny->header_size, 1u);
  EXPECT_EQ(tiny->code_size, 7u);
  EXPECT_FALSE(tiny->has_handlers);
  const auto fat = read_il_header(bytes({0x1b, 0x30, 8, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(fat);
  EXPECT_EQ(fat->header_size, 12u);
  EXPECT_EQ(fat->code_size, 0x1234u);
  EXPECT_TRUE(fat->has_handlers);
}

TEST(IlBody, DamagedHeaders) {
  EXPECT_EQ(read_il_header({}).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_il_header(bytes({0x13, 0x30})).error().code, ErrorCode::truncated);
  EXPECT_EQ(read_il_header(bytes({0x13, 0x40, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0})).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_il_header(bytes({0x13, 0x30, 8, 0, 0, 0, 0, 0x10, 0, 0, 0, 0})).error().code,
            ErrorCode::limit_exceeded);
}

TEST(IlBody, KindsOfHandlers) {
  const auto small = read_il_section(bytes({0x81, 28, 0, 0}));
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->is_of_handlers);
  EXPECT_TRUE(small->has_next);
  EXPECT_EQ(small->size, 28u);
  IlHandlers handlers;
  // A catch and a finally; the last one is cut off.
  add_il_handlers(*small, bytes({0, 0, 0, 0, 9, 9, 0, 9, 1, 0, 0, 1, 2, 0, 0, 0, 9, 9, 0, 9, 0, 0, 0, 0, 4, 0}),
                  handlers);
  EXPECT_TRUE(handlers.has_finally);
  EXPECT_FALSE(handlers.has_fault);
  const auto fat = read_il_section(bytes({0x41, 28, 0, 0}));
  ASSERT_TRUE(fat);
  EXPECT_FALSE(fat->has_next);
  std::vector<std::byte> clause(24);
  clause[0] = std::byte{4};
  add_il_handlers(*fat, clause, handlers);
  EXPECT_TRUE(handlers.has_fault);
  const auto other = read_il_section(bytes({0x42, 28, 0, 0}));
  ASSERT_TRUE(other);
  IlHandlers none;
  add_il_handlers(*other, clause, none);
  EXPECT_FALSE(none.has_fault);
}

TEST(IlBody, DamagedSections) {
  EXPECT_EQ(read_il_section(bytes({0x41, 28})).error().code, ErrorCode::truncated);
  EXPECT_EQ(read_il_section(bytes({0x01, 3, 0, 0})).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_il_section(bytes({0x41, 0xff, 0xff, 0xff})).error().code, ErrorCode::limit_exceeded);
}

// ldarg.0; ldstr; callvirt 0x0a000001; switch of two; ldc.i8; constrained.; call 0x06000002; newobj; ret
TEST(IlBody, CallsAmongAllKindsOfOperands) {
  const auto code = bytes({0x02, 0x72, 1, 0, 0, 0x70, 0x6f, 1,    0,    0,    0x0a, 0x45, 2,    0,    0,    0,    0,
                           0,    0,    0, 5, 0, 0,    0,    0x21, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0xfe,
                           0x16, 1,    0, 0, 2, 0x28, 2,    0,    0,    6,    0x73, 3,    0,    0,    0x0a, 0x2a});
  const auto calls = read_il_calls(code);
  ASSERT_TRUE(calls);
  ASSERT_EQ(calls->size(), 3u);
  EXPECT_EQ((*calls)[0].offset, 6u);
  EXPECT_TRUE((*calls)[0].is_virtual);
  EXPECT_EQ((*calls)[0].token, 0x0a000001u);
  EXPECT_EQ((*calls)[1].offset, 39u);
  EXPECT_EQ((*calls)[1].token, 0x06000002u);
  EXPECT_EQ((*calls)[2].offset, 44u);
}

TEST(IlBody, WhatIsNoIlIsRefused) {
  EXPECT_EQ(read_il_calls(bytes({0x28, 1, 0})).error().code, ErrorCode::truncated);
  EXPECT_EQ(read_il_calls(bytes({0xff})).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_il_calls(bytes({0xfe, 0x70})).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_il_calls(bytes({0x45, 0xff, 0xff, 0xff, 0xff})).error().code, ErrorCode::truncated);
  EXPECT_TRUE(read_il_calls({})->empty());
}

}  // namespace
}  // namespace mixstack::dotnet::names
