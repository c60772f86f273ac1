#include "agent/in_process/code_header.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/memory/buffer_memory.h"

namespace mixstack::agent {
namespace {

TEST(CodeHeader, OffsetsAsTheDescriptorTellsThem) {
  const auto layout = CodeHeaderLayout::in(
      R"({"types":{"Other":{"NumUnwindInfos":7},"RealCodeHeader":{"MethodDesc":24,"GCInfo":16,"NumUnwindInfos":32,"UnwindInfos":[36,"x"]}}})");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->count, 32u);
  EXPECT_EQ(layout->rows, 36u);
}

TEST(CodeHeader, WhatIsNotToldIsNotGuessed) {
  for (const char* json : {"", "{}", R"("RealCodeHeader":{)", R"("RealCodeHeader":{"NumUnwindInfos":32})",
                           R"("RealCodeHeader":{"NumUnwindInfos":"x","UnwindInfos":36})",
                           R"("RealCodeHeader":{"NumUnwindInfos":99999999,"UnwindInfos":36})",
                           R"("RealCodeHeader":{"NumUnwindInfos":99999999999999999,"UnwindInfos":36})"})
    EXPECT_FALSE(CodeHeaderLayout::in(json)) << json;
}

/// A code heap: the pointer to a header, a method of 0x60 bytes with a funclet of 0x20 behind it, the header, unwind
/// data.
class CodeHeap : public testing::Test {
 protected:
  static constexpr Address kBase = 0x7f0000001000, kCode = kBase + 0x40, kHeader = kBase + 0x200, kData = 0x300;
  static constexpr CodeHeaderLayout kLayout{32, 36};
  void put32(Address at, std::uint32_t value) { std::memcpy(&bytes_[at - kBase], &value, sizeof(value)); }
  void SetUp() override {
    std::memcpy(&bytes_[0x38], &kHeader, sizeof(kHeader));
    put32(kHeader + kLayout.count, 2);
    const std::uint32_t rows[] = {0x40, 0xa0, kData, 0xa0, 0xc0, kData};
    for (std::size_t i = 0; i < std::size(rows); i++) put32(kHeader + kLayout.rows + 4 * i, rows[i]);
    put32(kBase + kData, 0x00010501);      // version 1, a prologue of 5 bytes, one code, no frame register
    put32(kBase + kData + 4, 0x00004205);  // at 5: 40 bytes of stack
  }
  [[nodiscard]] std::vector<JitCode> pieces(std::vector<AddressRange> ranges = {{kCode, kCode + 0x80}}) const {
    memory::BufferMemory memory;
    memory.add(kBase, bytes_);
    return pieces_of(Arch::x86_64, memory, kLayout, ranges, 42, false);
  }
  std::vector<std::byte> bytes_ = std::vector<std::byte>(0x400);
};

TEST_F(CodeHeap, AMethodAndItsFunclet) {
  const auto found = pieces();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].range, (AddressRange{kCode, kCode + 0x60}));
  EXPECT_EQ(found[0].part, JitPart::body);
  EXPECT_EQ(found[1].range, (AddressRange{kCode + 0x60, kCode + 0x80}));
  EXPECT_EQ(found[1].part, JitPart::funclet);
  for (const JitCode& code : found) {
    EXPECT_EQ(code.method, 42u);
    EXPECT_EQ(code.prologue, 5);
    EXPECT_EQ(code.image_base, kBase);
    EXPECT_EQ(code.rule.kind, unwind::CompactKind::register_offset);
    EXPECT_EQ(code.rule.cfa_offset, 40 + 8);
  }
}

TEST_F(CodeHeap, WhereRowsCannotBeRightThePrologueDecides) {
  const std::uint8_t code[] = {0x48, 0x83, 0xec, 0x28, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x28, 0xc3};  // sub rsp, 40
  const auto is_decoded = [&] {
    const auto found = pieces();
    return found.size() == 1 && found[0].range == AddressRange{kCode, kCode + 0x80} && found[0].unwind_data == 0 &&
           found[0].source == FrameSource::prologue && found[0].frame_size == 48 && found[0].prologue == 4;
  };
  const auto restore = [&] {
    SetUp();
    std::memcpy(&bytes_[kCode - kBase], code, sizeof(code));
  };
  restore();
  put32(kHeader + kLayout.count, 100'000);
  EXPECT_TRUE(is_decoded());
  restore();
  put32(kHeader + kLayout.rows + 16, 0x1000);  // the funclet ends beyond the method
  EXPECT_TRUE(is_decoded());
  restore();
  put32(kHeader + kLayout.rows + 12, 0x20);  // before the method
  EXPECT_TRUE(is_decoded());
  restore();
  put32(kBase + 0x38, 5), put32(kBase + 0x3c, 0);  // a stub's kind
  EXPECT_TRUE(is_decoded());
  EXPECT_TRUE(pieces({}).empty());
}

TEST_F(CodeHeap, CodeThatCannotBeDecodedHasNoFrame) {
  put32(kHeader + kLayout.count, 100'000);
  std::fill_n(bytes_.begin() + (kCode - kBase), 0x80, std::byte{0x06});  // no instruction of 64-bit code
  const auto found = pieces();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, FrameSource::none);
  EXPECT_EQ(found[0].rule.kind, unwind::CompactKind::interpret);
}

TEST_F(CodeHeap, ThePrologueIsTheSecondWitness) {
  EXPECT_EQ(pieces()[0].source, FrameSource::contradicted) << "zeros make no room on the stack";
  const std::uint8_t code[] = {0x0f, 0x1f, 0x00, 0x48, 0x83, 0xec, 0x28};  // nop; sub rsp, 40
  std::memcpy(&bytes_[kCode - kBase], code, sizeof(code));
  const JitCode found = pieces()[0];
  EXPECT_EQ(found.source, FrameSource::both);
  EXPECT_EQ(found.frame_size, 48u);
  EXPECT_EQ(found.kept, JitCode::kPrologueBytes);
  EXPECT_EQ(found.prologue_bytes[3], std::byte{0x48});
}

}  // namespace
}  // namespace mixstack::agent
