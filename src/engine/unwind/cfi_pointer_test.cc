#include "engine/unwind/cfi_pointer.h"

#include <gtest/gtest.h>

#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;

std::optional<std::uint64_t> read(const Bytes& bytes, std::uint8_t encoding, PointerBases bases = {},
                                  std::size_t* used = nullptr, std::size_t start = 0) {
  base::ByteCursor cursor(bytes.bytes(), start);
  const auto value = read_pointer(cursor, encoding, bases);
  if (used != nullptr) *used = cursor.position();
  return value;
}

TEST(CfiPointer, Formats) {
  const std::uint64_t minus_two = ~std::uint64_t{1};
  EXPECT_EQ(read(Bytes().u64(0x1122334455667788), eh_pe::kAbsPtr), 0x1122334455667788u);
  EXPECT_EQ(read(Bytes().uleb(300), eh_pe::kUleb128), 300u);
  EXPECT_EQ(read(Bytes().u16(0xfffe), eh_pe::kUdata2), 0xfffeu);
  EXPECT_EQ(read(Bytes().u32(0xfffffffe), eh_pe::kUdata4), 0xfffffffeu);
  EXPECT_EQ(read(Bytes().u64(7), eh_pe::kUdata8), 7u);
  EXPECT_EQ(read(Bytes().sleb(-2), eh_pe::kSleb128), minus_two);
  EXPECT_EQ(read(Bytes().u16(0xfffe), eh_pe::kSdata2), minus_two);
  EXPECT_EQ(read(Bytes().u32(0xfffffffe), eh_pe::kSdata4), minus_two);
  EXPECT_EQ(read(Bytes().u64(minus_two), eh_pe::kSdata8), minus_two);
  for (const int unknown : {0x05, 0x08, 0x0d, 0x0f})
    EXPECT_FALSE(read(Bytes().u64(1).u64(1), static_cast<std::uint8_t>(unknown)));
  EXPECT_FALSE(read(Bytes().u64(1), eh_pe::kOmit));
}

TEST(CfiPointer, AddressSize) {
  PointerBases bases;
  bases.address_size = 4;
  std::size_t used = 0;
  EXPECT_EQ(read(Bytes().u32(0x80000000).u32(9), eh_pe::kAbsPtr, bases, &used), 0x80000000u);
  EXPECT_EQ(used, 4u);
  bases.section = 0xfffffff0;
  EXPECT_EQ(read(Bytes().u32(0x20), eh_pe::kPcRel | eh_pe::kUdata4, bases), 0x10u) << "wraps at 32 bits";
}

TEST(CfiPointer, Applications) {
  PointerBases bases;
  bases.section = 0x1000;
  bases.text = 0x2000;
  bases.data = 0x3000;
  bases.function = 0x4000;
  const Bytes bytes = Bytes().u32(0).u32(static_cast<std::uint32_t>(-8));
  EXPECT_EQ(read(bytes, eh_pe::kPcRel | eh_pe::kSdata4, bases, nullptr, 4), 0x1004u - 8);
  EXPECT_EQ(read(bytes, eh_pe::kTextRel | eh_pe::kSdata4, bases, nullptr, 4), 0x2000u - 8);
  EXPECT_EQ(read(bytes, eh_pe::kDataRel | eh_pe::kSdata4, bases, nullptr, 4), 0x3000u - 8);
  EXPECT_EQ(read(bytes, eh_pe::kFuncRel | eh_pe::kSdata4, bases, nullptr, 4), 0x4000u - 8);
  EXPECT_FALSE(read(bytes, 0x60 | eh_pe::kSdata4, bases));
}

TEST(CfiPointer, Aligned) {
  PointerBases bases;
  bases.section = 0x1001;  // position 7 is the next multiple of eight
  std::size_t used = 0;
  Bytes bytes;
  for (int i = 0; i < 7; i++) bytes.u8(0xee);
  bytes.u64(0xabcd);
  EXPECT_EQ(read(bytes, eh_pe::kAligned, bases, &used, 2), 0xabcdu);
  EXPECT_EQ(used, 15u);
}

TEST(CfiPointer, Indirect) {
  const Bytes memory = Bytes().u64(0x5555);
  const BytesAt image = [&](std::uint64_t address, std::size_t size) {
    return address == 0x9000 && size == 8 ? std::span<const std::byte>(memory.bytes()) : std::span<const std::byte>{};
  };
  PointerBases bases;
  EXPECT_FALSE(read(Bytes().u32(0x9000), eh_pe::kIndirect | eh_pe::kUdata4, bases)) << "nothing to read through";
  bases.image = &image;
  EXPECT_EQ(read(Bytes().u32(0x9000), eh_pe::kIndirect | eh_pe::kUdata4, bases), 0x5555u);
  EXPECT_FALSE(read(Bytes().u32(0x9001), eh_pe::kIndirect | eh_pe::kUdata4, bases));
}

TEST(CfiPointer, Truncated) {
  EXPECT_FALSE(read(Bytes{1, 2, 3}, eh_pe::kUdata4));
  EXPECT_FALSE(read(Bytes{0x80}, eh_pe::kUleb128));
  EXPECT_FALSE(read(Bytes{1, 2, 3}, eh_pe::kAligned));
}

TEST(CfiPointer, Skip) {
  base::ByteCursor cursor(std::span<const std::byte>{});
  EXPECT_TRUE(skip_pointer(cursor, eh_pe::kOmit, {}));
  EXPECT_FALSE(skip_pointer(cursor, eh_pe::kUdata2, {}));
  const Bytes bytes = Bytes().u32(1).u8(2);
  base::ByteCursor more(bytes.bytes());
  EXPECT_TRUE(skip_pointer(more, eh_pe::kIndirect | eh_pe::kPcRel | eh_pe::kSdata4, {}));
  EXPECT_EQ(more.position(), 4u);
}

}  // namespace
}  // namespace mixstack::unwind
