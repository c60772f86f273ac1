#include "dotnet/names/portable_pdb.h"

#include <gtest/gtest.h>

#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;
using test::ByteWriter;
using test::MetadataBuilder;

constexpr unsigned kDocument = 0x30, kMethodDebugInformation = 0x31;

/// Two documents and four methods; the third has none, the fourth is in both documents.
MetadataBuilder sample() {
  MetadataBuilder b;
  ByteWriter id;
  for (unsigned i = 0; i < 20; i++) id.u8(i);
  b.pdb = id.u32(0).u64(0).bytes;
  const auto part = [&](std::string_view text) { return b.blob(ByteWriter().text(text).bytes); };
  const auto source = part("src"), one = part("One.cs"), two = part("Two.cs");
  const auto path = [&](std::uint32_t name) { return b.blob(ByteWriter().text("/").u8(0).u8(source).u8(name).bytes); };
  const auto first = path(one), second = path(two);
  b.row(kDocument, {{first}, {0}, {0}, {0}});
  b.row(kDocument, {{second}, {0}, {0}, {0}});
  // No signature; IL 0: line 10, IL 5: hidden, IL 9: line 12, IL 20: line 11.
  const auto points = b.blob(bytes_of({0, 0, 0, 8, 10, 5, 5, 0, 0, 4, 0, 4, 4, 0, 11, 1, 2, 0x7f, 0}));
  b.row(kMethodDebugInformation, {{1}, {points}});
  const auto hidden = b.blob(bytes_of({0, 0, 0, 0}));
  b.row(kMethodDebugInformation, {{2}, {hidden}});
  b.row(kMethodDebugInformation, {{0}, {0}});
  // The document of the first point stands in the blob; from IL 4 on it is another.
  const auto both = b.blob(bytes_of({0, 1, 0, 0, 4, 7, 1, 0, 2, 4, 0, 4, 6, 0}));
  b.row(kMethodDebugInformation, {{0}, {both}});
  return b;
}

std::shared_ptr<const PortablePdb> open(const std::vector<std::byte>& bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  auto pdb = PortablePdb::open(MetadataBytes::borrow(*copy, copy));
  return pdb ? *pdb : nullptr;
}

std::string at(const PortablePdb& pdb, std::uint32_t method, std::uint32_t il) {
  const auto line = pdb.line_at(method, il);
  return line ? line->file + ":" + std::to_string(line->line) : "";
}

TEST(PortablePdb, LinesOfMethods) {
  const auto pdb = open(sample().build());
  ASSERT_NE(pdb, nullptr);
  EXPECT_EQ(at(*pdb, 1, 0), "/src/One.cs:10");
  EXPECT_EQ(at(*pdb, 1, 4), "/src/One.cs:10");
  EXPECT_EQ(at(*pdb, 1, 6), "/src/One.cs:10") << "the hidden point has no line";
  EXPECT_EQ(at(*pdb, 1, 9), "/src/One.cs:12");
  EXPECT_EQ(at(*pdb, 1, 20), "/src/One.cs:11");
  EXPECT_EQ(at(*pdb, 1, 100000), "/src/One.cs:11");
  EXPECT_EQ(at(*pdb, 2, 0), "") << "hidden throughout";
  EXPECT_EQ(at(*pdb, 3, 0), "");
  EXPECT_EQ(at(*pdb, 4, 3), "/src/One.cs:7");
  EXPECT_EQ(at(*pdb, 4, 4), "/src/Two.cs:10");
  for (const std::uint32_t none : {0u, 5u, 0xffffffffu}) EXPECT_EQ(at(*pdb, none, 0), "");
  EXPECT_EQ(pdb->id()[19], std::byte{19});
}

TEST(PortablePdb, MetadataOfAnAssemblyIsNone) {
  MetadataBuilder b = sample();
  b.pdb.clear();
  EXPECT_EQ(open(b.build()), nullptr);
}

TEST(PortablePdb, DamagedBytesGiveFewerLinesNeverACrash) {
  const auto whole = sample().build();
  for (std::size_t at = 0; at < whole.size(); at++) {
    for (const unsigned value : {0x00u, 0x7fu, 0x80u, 0xffu}) {
      auto damaged = whole;
      damaged[at] = static_cast<std::byte>(value);
      const auto pdb = open(damaged);
      if (pdb == nullptr) continue;
      for (std::uint32_t method = 0; method < 6; method++) {
        const auto line = pdb->line_at(method, 9);
        EXPECT_TRUE(!line || line->file.size() <= 4096u);
      }
    }
    const auto cut = open({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at)});
    if (cut != nullptr) (void)cut->line_at(1, 0);
  }
}

}  // namespace
}  // namespace mixstack::dotnet::names
