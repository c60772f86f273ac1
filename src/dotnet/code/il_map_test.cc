#include "dotnet/code/il_map.h"

#include <gtest/gtest.h>

#include <array>

#include "base/memory/buffer_memory.h"
#include "dotnet/code/native_array.h"
#include "support/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kBlob = 0x10000;

/// Writes what the reader reads, from the description of the format.
class BlobWriter {
 public:
  BlobWriter& byte(unsigned v) {
    bytes_.push_back(static_cast<std::byte>(v));
    return *this;
  }
  BlobWriter& word(std::uint32_t v) {
    for (unsigned i = 0; i < 4; i++) byte(v >> 8 * i & 255);
    return *this;
  }
  BlobWriter& nibbles(const std::vector<std::uint32_t>& numbers) {
    for (const std::byte b : test::nibbles(numbers)) bytes_.push_back(b);
    return *this;
  }
  BlobWriter& rows(const std::vector<IlMapRow>& map, unsigned native_bits, unsigned il_bits, unsigned source_bits = 2) {
    std::vector<bool> bits;
    const auto put = [&](std::uint64_t v, unsigned n) {
      for (unsigned i = 0; i < n; i++) bits.push_back((v >> i & 1) != 0);
    };
    std::uint32_t last = 0;
    for (const IlMapRow& r : map) {
      put(1, source_bits);
      put(r.native - last, native_bits);
      put(static_cast<std::uint64_t>(std::int64_t{r.il} + 3), il_bits);
      last = r.native;
    }
    while (bits.size() % 8 != 0) bits.push_back(false);
    for (std::size_t i = 0; i < bits.size(); i += 8) {
      unsigned v = 0;
      for (unsigned b = 0; b < 8; b++) v |= static_cast<unsigned>(bits[i + b]) << b;
      byte(v);
    }
    return *this;
  }
  BlobWriter& append(const BlobWriter& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }
  [[nodiscard]] Result<std::vector<IlMapRow>> read(DebugInfoWriter writer, std::size_t cut = 0,
                                                   DebugInfoForm form = DebugInfoForm::bits) const {
    memory::BufferMemory memory;
    memory.add(kBlob, std::vector<std::byte>(bytes_.begin(), bytes_.end() - static_cast<std::ptrdiff_t>(cut)));
    return read_il_map(memory, kBlob, writer, form);
  }

 private:
  std::vector<std::byte> bytes_;
};

const std::vector<IlMapRow> kMap{{0, IlMapRow::kProlog},   {9, 0}, {40, 300}, {41, 7}, {90, IlMapRow::kNoMapping},
                                 {1000, IlMapRow::kEpilog}};

BlobWriter bounds(const std::vector<IlMapRow>& map) {
  return BlobWriter().nibbles({static_cast<std::uint32_t>(map.size()), 10 - 1, 9 - 1}).rows(map, 10, 9);
}
BlobWriter blob(const BlobWriter& of_bounds) { return BlobWriter().nibbles({of_bounds.size(), 0}).append(of_bounds); }

TEST(IlMap, OfThePrecompiler) {
  const auto map = blob(bounds(kMap)).read(DebugInfoWriter::ready_to_run);
  ASSERT_TRUE(map);
  EXPECT_EQ(*map, kMap);
  EXPECT_TRUE(blob(BlobWriter()).read(DebugInfoWriter::ready_to_run)->empty());
}

TEST(IlMap, OfTheJitBehindWhatElseItKeeps) {
  EXPECT_EQ(BlobWriter().byte(0).append(blob(bounds(kMap))).read(DebugInfoWriter::jit).value(), kMap);
  BlobWriter patchpoints;
  patchpoints.byte(1);
  for (unsigned i = 0; i < 10; i++) patchpoints.word(i == 4 ? 3 : 0xdddddddd);  // 40 bytes, the count of locals at 16
  for (unsigned i = 0; i < 3; i++) patchpoints.word(0xeeeeeeee);
  EXPECT_EQ(patchpoints.append(blob(bounds(kMap))).read(DebugInfoWriter::jit).value(), kMap);
  BlobWriter inlined;
  inlined.byte(2).word(5).byte(1).byte(2).byte(3).byte(4).byte(5);
  EXPECT_EQ(inlined.append(blob(bounds(kMap))).read(DebugInfoWriter::jit).value(), kMap);
  const BlobWriter b = bounds(kMap);
  const auto instrumented =
      BlobWriter().byte(0).nibbles({0xffffffff, b.size(), 0, 0}).append(b).read(DebugInfoWriter::jit);
  EXPECT_EQ(instrumented.value(), kMap);
}

TEST(IlMap, OfNibbles) {
  std::vector<std::uint32_t> numbers{static_cast<std::uint32_t>(kMap.size())};
  std::uint32_t last = 0;
  for (const IlMapRow& row : kMap) {
    numbers.push_back(row.native - last);
    numbers.push_back(static_cast<std::uint32_t>(row.il + 3));
    numbers.push_back(1);
    last = row.native;
  }
  const BlobWriter whole = blob(BlobWriter().nibbles(numbers));
  EXPECT_EQ(whole.read(DebugInfoWriter::ready_to_run, 0, DebugInfoForm::nibbles).value(), kMap);
  const BlobWriter of_jit = BlobWriter().byte(0).append(whole);
  EXPECT_EQ(of_jit.read(DebugInfoWriter::jit, 0, DebugInfoForm::nibbles).value(), kMap);
  BlobWriter patchpoints;
  patchpoints.byte(1);
  for (unsigned i = 0; i < 8; i++) patchpoints.word(i == 2 ? 3 : 0xdddddddd);  // 32 bytes, the count of locals at 8
  for (unsigned i = 0; i < 3; i++) patchpoints.word(0xeeeeeeee);
  EXPECT_EQ(patchpoints.append(whole).read(DebugInfoWriter::jit, 0, DebugInfoForm::nibbles).value(), kMap);
  for (std::size_t cut = 1; cut <= whole.size(); cut++)
    EXPECT_FALSE(whole.read(DebugInfoWriter::ready_to_run, cut, DebugInfoForm::nibbles)) << cut;
  const BlobWriter many = blob(BlobWriter().nibbles({1000, 1, 4, 1}));
  EXPECT_EQ(many.read(DebugInfoWriter::ready_to_run, 0, DebugInfoForm::nibbles).error().code, ErrorCode::truncated);
  const BlobWriter far = blob(BlobWriter().nibbles({1, 0x7fffffff, 4, 1}));
  EXPECT_EQ(far.read(DebugInfoWriter::ready_to_run, 0, DebugInfoForm::nibbles).error().code, ErrorCode::malformed);
}

// .NET 11: a header of two sizes, or behind a 0 of six, and three bits for the source.
TEST(IlMap, OfHeaders) {
  const auto map_of = [](const BlobWriter& blob, std::size_t cut = 0) {
    const auto map = blob.read(DebugInfoWriter::jit, cut, DebugInfoForm::headers);
    const auto of_image = blob.read(DebugInfoWriter::ready_to_run, cut, DebugInfoForm::headers);
    EXPECT_EQ(map.has_value(), of_image.has_value()) << "the JIT and the precompiler write the same";
    return map;
  };
  const BlobWriter b =
      BlobWriter().nibbles({static_cast<std::uint32_t>(kMap.size()), 10 - 1, 9 - 1}).rows(kMap, 10, 9, 3);
  const BlobWriter slim = BlobWriter().nibbles({b.size(), 0}).append(b);
  EXPECT_EQ(map_of(slim).value(), kMap);
  BlobWriter fat = BlobWriter().nibbles({0, b.size(), 7, 5, 56 + 4 * 3, 4, 2}).append(b);
  for (unsigned i = 0; i < 7 + 5 + 68 + 4 + 2; i++) fat.byte(0xee);
  EXPECT_EQ(map_of(fat).value(), kMap);
  EXPECT_TRUE(map_of(BlobWriter().nibbles({0, 0, 0, 0, 0, 0, 0}))->empty());
  for (std::size_t cut = 1; cut <= slim.size(); cut++) EXPECT_FALSE(map_of(slim, cut)) << cut;
  EXPECT_EQ(map_of(BlobWriter().nibbles({0x7fffffff, 0})).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(map_of(BlobWriter().nibbles({0, 1, 0, 0, 0, 0x7fffffff, 0})).error().code, ErrorCode::limit_exceeded);
}

TEST(DebugInfoParts, OfHeadersFollowInTheOrderOfTheirSizes) {
  memory::BufferMemory memory;
  const auto bytes = BlobWriter().nibbles({0, 10, 20, 30, 40, 50, 60});
  memory.add(kBlob, bytes.bytes());
  const auto parts = find_debug_info_parts(memory, kBlob, DebugInfoWriter::jit, DebugInfoForm::headers);
  ASSERT_TRUE(parts);
  const Address first = kBlob + bytes.size();
  EXPECT_EQ(parts->bounds.begin, first);
  EXPECT_EQ(parts->bounds.bytes, 10u);
  EXPECT_EQ(parts->variables.begin, first + 10);
  EXPECT_EQ(parts->variables.bytes, 20u);
  EXPECT_EQ(parts->inlined.begin, first + 10 + 20 + 30 + 40);
  EXPECT_EQ(parts->inlined.bytes, 50u);
  EXPECT_EQ(parts->async.begin, first + 10 + 20 + 30 + 40 + 50);
  EXPECT_EQ(parts->async.bytes, 60u);
}

TEST(IlMap, WhatCannotBeRight) {
  const BlobWriter whole = BlobWriter().byte(0).append(blob(bounds(kMap)));
  for (std::size_t cut = 1; cut <= whole.size(); cut++) EXPECT_FALSE(whole.read(DebugInfoWriter::jit, cut)) << cut;
  EXPECT_EQ(BlobWriter().byte(4).append(blob(bounds(kMap))).read(DebugInfoWriter::jit).error().code,
            ErrorCode::malformed);
  const BlobWriter many = BlobWriter().nibbles({1000, 9, 8}).rows(kMap, 10, 9);
  EXPECT_EQ(blob(many).read(DebugInfoWriter::ready_to_run).error().code, ErrorCode::truncated);
  const BlobWriter wide = BlobWriter().nibbles({6, 40, 8}).rows(kMap, 10, 9);
  EXPECT_EQ(blob(wide).read(DebugInfoWriter::ready_to_run).error().code, ErrorCode::malformed);
  EXPECT_EQ(BlobWriter().nibbles({0x7fffffff, 0}).read(DebugInfoWriter::ready_to_run).error().code,
            ErrorCode::limit_exceeded);
}

TEST(IlMap, TheOffsetOfAnInstruction) {
  EXPECT_EQ(il_offset_at(kMap, 0), 0u);
  EXPECT_EQ(il_offset_at(kMap, 8), 0u) << "the prologue";
  EXPECT_EQ(il_offset_at(kMap, 39), 0u);
  EXPECT_EQ(il_offset_at(kMap, 40), 300u);
  EXPECT_EQ(il_offset_at(kMap, 89), 7u);
  EXPECT_EQ(il_offset_at(kMap, 500), 7u) << "code without IL";
  EXPECT_EQ(il_offset_at(kMap, 5000), 7u);
  EXPECT_EQ(il_offset_at({}, 5), std::nullopt);
}

// Two blocks of 16: one with elements 3 and 12, one with element 17 alone.
TEST(NativeArray, FindsWhatIsThere) {
  constexpr unsigned kBoth = 3, kAlone = 0;  // what lies below a node
  std::vector<std::byte> bytes;
  const auto number = [&](unsigned v) { bytes.push_back(static_cast<std::byte>(v << 1)); };  // below 128: one byte
  const auto large = [&](unsigned v) {
    bytes.push_back(static_cast<std::byte>(v << 2 | 1));
    bytes.push_back(static_cast<std::byte>(v >> 6));
  };
  large(18u << 2);                // 18 elements; where their blocks begin is one byte each, counted from here
  bytes.push_back(std::byte{2});  // the first behind these two
  bytes.push_back(std::byte{8});
  number(3u << 2 | kBoth);  // the right side three bytes from here
  number(3u << 2 | kAlone);
  number(33);
  number(12u << 2 | kAlone);
  number(44);
  bytes.push_back(std::byte{0xff});  // nobody's
  number(1u << 2 | kAlone);
  number(55);
  memory::BufferMemory memory;
  memory.add(0x2000, bytes);
  const NativeArray array(memory, {0x2000, 0x2000 + bytes.size()});
  const auto value = [&](std::uint32_t index) -> std::uint32_t {
    const auto at = array.at(index);
    return at ? array.number_at(*at).value().value : 0;
  };
  EXPECT_EQ(value(3), 33u);
  EXPECT_EQ(value(12), 44u);
  EXPECT_EQ(value(17), 55u);
  for (const std::uint32_t none : {0u, 2u, 4u, 8u, 15u, 16u, 18u, 1000u}) EXPECT_FALSE(array.at(none)) << none;
  EXPECT_EQ(array.number_at(0x1fff).error().code, ErrorCode::malformed);
}

// The last of four nodes says that its right side is 31 bytes from here.
TEST(NativeArray, ElementsLieInside) {
  constexpr unsigned kRight = 2;
  std::vector<std::byte> bytes{std::byte{16u << 2 << 1}, std::byte{1}};  // 16 elements, the block behind its offset
  for (const unsigned distance : {1u, 1u, 1u, 31u})
    bytes.push_back(static_cast<std::byte>((distance << 2 | kRight) << 1));
  memory::BufferMemory memory;
  memory.add(0x2000, bytes);
  EXPECT_EQ(NativeArray(memory, {0x2000, 0x2000 + bytes.size()}).at(15).error().code, ErrorCode::malformed);
  bytes.resize(64);
  memory::BufferMemory larger;
  larger.add(0x2000, bytes);
  EXPECT_EQ(NativeArray(larger, {0x2000, 0x2000 + bytes.size()}).at(15).value_or(0), 0x2005u + 31);
}

TEST(NativeArray, NumbersOfOneToFiveBytes) {
  const std::array<std::byte, 16> bytes{std::byte{0x06}, std::byte{0x21}, std::byte{0x01}, std::byte{0x03},
                                        std::byte{0x00}, std::byte{0x01}, std::byte{0x07}, std::byte{0},
                                        std::byte{0},    std::byte{0x01}, std::byte{0x0f}, std::byte{1},
                                        std::byte{2},    std::byte{3},    std::byte{4},    std::byte{0x1f}};
  memory::BufferMemory memory;
  memory.add(0x3000, std::vector<std::byte>(bytes.begin(), bytes.end()));
  const NativeArray array(memory, {0x3000, 0x3000 + bytes.size()});
  const std::pair<Address, std::uint32_t> expected[] = {
      {0x3000, 3}, {0x3001, 0x121 >> 2}, {0x3003, 0x10003 >> 3}, {0x3006, 0x1000007 >> 4}, {0x300a, 0x04030201}};
  Address next = 0x3000;
  for (const auto& [at, value] : expected) {
    EXPECT_EQ(next, at);
    const auto number = array.number_at(at);
    ASSERT_TRUE(number);
    EXPECT_EQ(number->value, value) << std::hex << at;
    next = number->next;
  }
  EXPECT_EQ(array.number_at(0x300f).error().code, ErrorCode::malformed);
}

}  // namespace
}  // namespace mixstack::dotnet
