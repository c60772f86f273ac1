#include "dotnet/code/rich_debug_info.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet {
namespace {

/// Writes as NibbleWriter of src/coreclr/inc/nibblestream.h does.
class Nibbles {
 public:
  void number(std::uint32_t value) {
    int shift = 0;
    while (value >> shift > 7) shift += 3;
    for (; shift > 0; shift -= 3) put((value >> shift & 7) | 8);
    put(value & 7);
  }
  void signed_number(std::int32_t value) {
    number(value < 0 ? static_cast<std::uint32_t>(-value) << 1 | 1 : static_cast<std::uint32_t>(value) << 1);
  }
  void pointer(std::uint64_t value) {
    for (unsigned i = 0; i < 16; i++) put(static_cast<unsigned>(value >> 4 * i & 15));
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> out((nibbles_.size() + 1) / 2);
    for (std::size_t i = 0; i < nibbles_.size(); i++)
      out[i / 2] |= static_cast<std::byte>(nibbles_[i] << (i % 2 == 0 ? 0 : 4));
    return out;
  }

 private:
  void put(unsigned nibble) { nibbles_.push_back(nibble); }
  std::vector<unsigned> nibbles_;
};

/// The method 0x1000 calls 0x2000 at 5, which calls 0x3000 at 9; and 0x1000 calls 0x4000 at 12.
std::vector<std::byte> sample(std::uint32_t child_of_third = 0) {
  Nibbles out;
  out.number(4), out.number(4);
  struct Node {
    std::uint64_t method;
    std::int32_t il;
    std::int32_t child, sibling;
  };
  std::int32_t il = -2, child = 0, sibling = 0;
  for (const Node& n : {Node{0x1000, -1, 1, 0}, Node{0x2000, 5, 2, 3},
                        Node{0x3000, 9, static_cast<std::int32_t>(child_of_third), 0}, Node{0x4000, 12, 0, 0}}) {
    out.pointer(n.method);
    out.signed_number(n.il - il), out.signed_number(n.child - child), out.signed_number(n.sibling - sibling);
    il = n.il, child = n.child, sibling = n.sibling;
  }
  struct Row {
    std::uint32_t native;
    std::int32_t node, il;
  };
  std::uint32_t native = 0;
  std::int32_t node = 0;
  il = -2;
  for (const Row& r : {Row{0, 0, 0}, Row{16, 2, 7}, Row{40, 3, 1}, Row{300, 0, -1}}) {
    out.number(r.native - native), out.signed_number(r.node - node), out.signed_number(r.il - il), out.number(0);
    native = r.native, node = r.node, il = r.il;
  }
  return out.bytes();
}

TEST(RichDebugInfo, MethodsOfAPlace) {
  const auto info = decode_rich_debug_info(sample(), 8);
  ASSERT_TRUE(info);
  ASSERT_EQ(info->nodes.size(), 4u);
  ASSERT_EQ(info->rows.size(), 4u);
  const auto deep = methods_at(*info, 20);
  ASSERT_EQ(deep.size(), 3u);
  EXPECT_EQ(deep[0].method, 0x3000u);
  EXPECT_EQ(deep[0].il, 7u);
  EXPECT_EQ(deep[1].method, 0x2000u);
  EXPECT_EQ(deep[1].il, 9u);
  EXPECT_EQ(deep[2].method, 0x1000u);
  EXPECT_EQ(deep[2].il, 5u);
  EXPECT_EQ(methods_at(*info, 41).size(), 2u);
  EXPECT_EQ(methods_at(*info, 3).size(), 1u);
  EXPECT_EQ(methods_at(*info, 1000).front().il, std::nullopt);
}

TEST(RichDebugInfo, HostileTreesEnd) {
  EXPECT_EQ(decode_rich_debug_info({}, 8).error().code, ErrorCode::truncated);
  auto cut = sample();
  cut.resize(cut.size() / 2);
  EXPECT_EQ(decode_rich_debug_info(cut, 8).error().code, ErrorCode::truncated);
  EXPECT_FALSE(decode_rich_debug_info(sample(77), 8));
  // A child that is its own ancestor.
  const auto cycle = decode_rich_debug_info(sample(1), 8);
  EXPECT_TRUE(!cycle || methods_at(*cycle, 20).size() <= 4);
  Nibbles many;
  many.number(1u << 30), many.number(0);
  EXPECT_EQ(decode_rich_debug_info(many.bytes(), 8).error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace mixstack::dotnet
