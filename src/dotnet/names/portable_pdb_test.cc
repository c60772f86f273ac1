#include "dotnet/names/portable_pdb.h"

#include <gtest/gtest.h>

#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;
using test::ByteWriter;
using test::MetadataBuilder;

constexpr unsigned kDocument = 0x30, kMethodDebugInformation = 0x31, kLocalScope = 0x32, kLocalVariable = 0x33;

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

/// Two methods with signature 1 and none; the first has a scope of all of it with two variables, one of them the
/// compiler's own, and two inside, one behind the other, that use the same slot.
MetadataBuilder with_locals() {
  MetadataBuilder b = sample();
  b.row(kMethodDebugInformation, {{0}, {b.blob(bytes_of({1, 1, 0, 0}))}});  // the fifth
  const auto scope = [&](std::uint32_t method, std::uint32_t variables, std::uint32_t begin, std::uint32_t length) {
    b.row(kLocalScope, {{method}, {0}, {variables}, {1}, {begin, 4}, {length, 4}});
  };
  scope(5, 1, 0, 100);
  scope(5, 3, 10, 20);
  scope(5, 4, 30, 20);
  scope(6, 5, 0, 100);
  b.row(kLocalVariable, {{0}, {0}, {b.string("order")}});
  b.row(kLocalVariable, {{1}, {1}, {b.string("hidden")}});
  b.row(kLocalVariable, {{0}, {2}, {b.string("first")}});
  b.row(kLocalVariable, {{0}, {2}, {b.string("second")}});
  b.row(kLocalVariable, {{0}, {7}, {b.string("other")}});
  return b;
}

std::string locals(const PortablePdb& pdb, std::uint32_t method, std::uint32_t il) {
  const PdbLocals found = pdb.locals_at(method, il);
  std::string text = std::to_string(found.signature);
  for (const auto& local : found.list) text += " " + std::to_string(local.slot) + ":" + std::string(local.name);
  return text;
}

TEST(PortablePdb, LocalsOfScopesAroundAPlace) {
  const auto pdb = open(with_locals().build());
  ASSERT_NE(pdb, nullptr);
  EXPECT_EQ(locals(*pdb, 5, 0), "1 0:order");
  EXPECT_EQ(locals(*pdb, 5, 10), "1 0:order 2:first");
  EXPECT_EQ(locals(*pdb, 5, 29), "1 0:order 2:first");
  EXPECT_EQ(locals(*pdb, 5, 30), "1 0:order 2:second") << "one slot, another variable";
  EXPECT_EQ(locals(*pdb, 5, 100), "1");
  EXPECT_EQ(locals(*pdb, 1, 5), "0");
  for (const std::uint32_t none : {0u, 6u, 0xffffffffu}) EXPECT_EQ(locals(*pdb, none, 0), "0");
}

TEST(PortablePdb, MetadataOfAnAssemblyIsNone) {
  MetadataBuilder b = sample();
  b.pdb.clear();
  EXPECT_EQ(open(b.build()), nullptr);
}

TEST(PortablePdb, DamagedBytesGiveFewerLinesNeverACrash) {
  const auto whole = with_locals().build();
  for (std::size_t at = 0; at < whole.size(); at++) {
    for (const unsigned value : {0x00u, 0x7fu, 0x80u, 0xffu}) {
      auto damaged = whole;
      damaged[at] = static_cast<std::byte>(value);
      const auto pdb = open(damaged);
      if (pdb == nullptr) continue;
      for (std::uint32_t method = 0; method < 7; method++) {
        EXPECT_LE(pdb->locals_at(method, 10).list.size(), PortablePdb::kMostLocals);
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
