#include "dotnet/names/code_makers.h"

#include <gtest/gtest.h>

#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;

TEST(CodeMakers, NamesOfFSharp) {
  EXPECT_EQ(parse_fsharp("loop@17").source, "loop");
  EXPECT_EQ(parse_fsharp("main@30-4").source, "main");
  EXPECT_EQ(parse_fsharp("main@30-4").ordinal, 4u);
  EXPECT_EQ(parse_fsharp("generic@49`1").source, "generic");
  EXPECT_EQ(parse_fsharp(".ctor@3").source, ".ctor");
  for (const std::string_view other :
       {"", "Main", "@17", "a@", "a@b", "a@1-", "a@1-x", "a@1b", "staticInitialization@"})
    EXPECT_EQ(parse_fsharp(other).source, "") << other;
}

TEST(CodeMakers, NamesOfVisualBasic) {
  EXPECT_TRUE(parse_vb_lambda("_Lambda$__5-0").is_one);
  EXPECT_EQ(parse_vb_lambda("_Lambda$__5-12").ordinal, 12u);
  EXPECT_EQ(parse_vb_lambda("_Lambda$__3").ordinal, 3u);
  EXPECT_TRUE(parse_vb_lambda("_Lambda$__R2-1").is_one);
  EXPECT_TRUE(parse_vb_lambda("_Lambda$__2-1#3").is_one);
  for (const std::string_view other : {"", "_Lambda$__", "_Lambda$__x", "_Lambda$__1-", "_Lambda$__1x", "Lambda$__1-0"})
    EXPECT_FALSE(parse_vb_lambda(other).is_one) << other;
}

/// 2 M {1 names, 2 loop@17, 3 Grow}, and in it 3 names@24 {4, 5 Invoke}, 4 both@9 {6, 7 Invoke}, 6 kept@30 {9, 10
/// Invoke}, 7 _Closure$__1-0 {11 _Lambda$__0}, 8 loop@17-1 {12, 13 Invoke}; 5 the startup code {8 .cctor}. Each
/// method's code lies at its number.
class CodeMakersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::MetadataBuilder b;
    b.module("sample.dll");
    b.assembly("sample");
    b.type_def("", "<Module>", 1);
    b.type_def("", "M", 1);
    b.type_def("", "names@24", 4);
    b.type_def("", "both@9", 6);
    b.type_def("<StartupCode$sample>", "$M", 8);
    b.type_def("", "kept@30", 9);
    b.type_def("", "_Closure$__1-0", 11);
    b.type_def("", "loop@17-1", 12);
    std::uint32_t rva = 0;
    for (const std::string_view name : {"names", "loop@17", "Grow", ".ctor", "Invoke", ".ctor", "Invoke", ".cctor",
                                        ".ctor", "Invoke", "_Lambda$__0", ".ctor", "Invoke"})
      b.row(0x06,
            {test::MetadataBuilder::four(++rva), {0}, {0x16}, {b.string(name)}, {b.blob(bytes_of({0, 0, 1}))}, {1}});
    for (const std::uint32_t inner : {3u, 4u, 6u, 7u, 8u}) b.nested(inner, 2);
    blob_ = b.build();
    auto opened = Metadata::open(MetadataBytes::borrow(blob_, nullptr));
    ASSERT_TRUE(opened);
    metadata_ = *opened;
    code_[1] = {0x73, 4, 0, 0, 6, 0x73, 6, 0, 0, 6, 0xfe, 0x06, 11, 0, 0, 6};
    code_[2] = {0x28, 2, 0, 0, 6, 0x73, 12, 0, 0, 6};
    code_[3] = {0x28, 2, 0, 0, 6, 0x73, 6, 0, 0, 6};
    code_[8] = {0x73, 9, 0, 0, 6};
  }
  CodeMakers makers() {
    return {metadata_, 3, [this](std::uint32_t rva) -> Result<std::vector<std::byte>> {
              std::vector<std::byte> bytes;
              for (const int byte : code_[rva]) bytes.push_back(static_cast<std::byte>(byte));
              return bytes;
            }};
  }

  std::vector<std::byte> blob_;
  std::shared_ptr<const Metadata> metadata_;
  std::map<std::uint32_t, std::vector<int>> code_;
};

TEST_F(CodeMakersTest, WhoMakesItIsItsMethod) {
  EXPECT_EQ(makers().source_of(5).method, 1u);
  EXPECT_EQ(makers().source_of(2).method, 3u) << "a function that calls itself is not its own";
  EXPECT_EQ(makers().source_of(11).method, 1u);
  EXPECT_FALSE(makers().source_of(5).is_in_same_name);
  EXPECT_EQ(makers().source_of(13).method, 3u);
  EXPECT_TRUE(makers().source_of(13).is_in_same_name) << "a lambda in the inner function loop";
}

TEST_F(CodeMakersTest, NothingIsSaidOfWhatTwoMake) {
  EXPECT_EQ(makers().source_of(7).method, 0u);
  EXPECT_EQ(makers().source_of(1).method, 0u) << "made by nobody: it is of the source";
}

TEST_F(CodeMakersTest, ValuesOfModulesAreMadeByTheStartupCode) {
  EXPECT_EQ(makers().source_of(10).method, 0u);
  EXPECT_TRUE(makers().source_of(10).is_of_startup);
}

TEST_F(CodeMakersTest, CyclesEnd) {
  code_[1] = {};
  code_[3] = {0x73, 12, 0, 0, 6};
  code_[13] = {0x28, 2, 0, 0, 6};
  code_[2] = {0x73, 12, 0, 0, 6};
  EXPECT_EQ(makers().source_of(2).method, 3u) << "by way of the lambda that it is called by";
  code_[3] = {};
  EXPECT_EQ(makers().source_of(2).method, 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::names
