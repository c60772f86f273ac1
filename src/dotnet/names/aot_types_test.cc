#include "dotnet/names/aot_types.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kTypeReference = 0x3d, kNamespaceReference = 0x30;
constexpr Address kReferences = 0x70000, kFirst = 0x60000;

/// The three blobs of a program with these types, whose MethodTables lie 0x100 bytes apart from kFirst on.
class Program {
 public:
  Program() { u32(metadata, 0xdeaddffd); }

  std::uint32_t space(std::string_view name, std::uint32_t around = 0) {
    const std::uint32_t text = string(name), at = here();
    handle(around == 0 ? 0 : kNamespaceReference, around);
    number(metadata, text);
    return at;
  }
  std::uint32_t type(std::string_view name, std::uint32_t around, bool is_nested = false) {
    const std::uint32_t text = string(name), at = here();
    handle(is_nested ? kTypeReference : kNamespaceReference, around);
    number(metadata, text);
    types.push_back(at);
    return at;
  }
  void make() {
    map.assign(1, std::byte{2 << 2 | 1});  // four buckets, offsets of two bytes
    const std::size_t first = 1 + 5 * 2, entry = 1 + 5;
    const std::size_t records = first + types.size() * entry;
    map.resize(records);
    const auto bucket = [&](std::size_t i, std::size_t offset) {
      const auto value = static_cast<std::uint16_t>(offset - 1);
      std::memcpy(map.data() + 1 + 2 * i, &value, 2);
    };
    bucket(0, first);
    for (std::size_t i = 1; i < 5; i++) bucket(i, records);
    for (std::size_t i = 0; i < types.size(); i++) {
      const std::size_t at = first + i * entry + 1;
      const auto distance = static_cast<std::int32_t>(map.size() - at);
      map[at] = std::byte{0x0f};
      std::memcpy(map.data() + at + 1, &distance, 4);
      number(map, static_cast<std::uint32_t>(i));
      number(map, kTypeReference << 25 | types[i]);
      u32(references, static_cast<std::uint32_t>(kFirst + 0x100 * i - (kReferences + 4 * i)));
    }
  }
  std::optional<AotTypes> parse() const { return AotTypes::parse(metadata, map, references, kReferences); }

  std::vector<std::byte> metadata, map, references;
  std::vector<std::uint32_t> types;

 private:
  static void u32(std::vector<std::byte>& out, std::uint32_t v) {
    for (unsigned i = 0; i < 4; i++) out.push_back(static_cast<std::byte>(v >> (8 * i)));
  }
  static void number(std::vector<std::byte>& out, std::uint32_t v) {
    out.push_back(std::byte{0x0f});
    u32(out, v);
  }
  std::uint32_t here() const { return static_cast<std::uint32_t>(metadata.size()); }
  void handle(std::uint32_t kind, std::uint32_t offset) { number(metadata, offset << 7 | kind); }
  std::uint32_t string(std::string_view text) {
    const std::uint32_t at = here();
    number(metadata, static_cast<std::uint32_t>(text.size()));
    for (const char c : text) metadata.push_back(static_cast<std::byte>(c));
    return at;
  }
};

Program sample() {
  Program p;
  const auto system = p.space("System"), generic = p.space("Generic", p.space("Collections", system));
  p.type("Int32", system);
  const auto dictionary = p.type("Dictionary`2", generic);
  p.type("Entry", dictionary, true);
  p.type("Nullable`1", system);
  p.type("ValueTuple`2", system);
  p.type("Own`1", dictionary, true);
  p.type("<>c", p.type("Program", p.space("")), true);
  p.make();
  return p;
}

TEST(AotTypes, AreNamedWithTheirArguments) {
  const auto types = sample().parse();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->size(), 8U);
  const auto name = [&](unsigned i, std::vector<std::string> arguments = {}) {
    return types->name(kFirst + 0x100 * i, arguments).value_or("");
  };
  EXPECT_EQ(name(0), "int");
  EXPECT_EQ(name(1, {"int", "Shop.Order"}), "System.Collections.Generic.Dictionary<int, Shop.Order>");
  EXPECT_EQ(name(2, {"int", "string"}), "System.Collections.Generic.Dictionary<int, string>.Entry");
  EXPECT_EQ(name(3, {"int"}), "int?");
  EXPECT_EQ(name(4, {"int", "string"}), "(int, string)");
  EXPECT_EQ(name(5, {"A", "B", "C"}), "System.Collections.Generic.Dictionary<A, B>.Own<C>");
  EXPECT_EQ(name(7), "Program.<>c");
  EXPECT_EQ(name(1, {"int"}), "") << "too few";
  EXPECT_EQ(name(2, {"A", "B", "C"}), "") << "too many";
  EXPECT_EQ(types->name(kFirst + 8, {}), std::nullopt) << "beside a type";
}

TEST(AotTypes, WhatIsNotAsKnownNamesNothing) {
  const Program whole = sample();
  for (std::size_t size = 0; size < whole.map.size(); size++) {
    Program cut = whole;
    cut.map.resize(size);
    EXPECT_FALSE(cut.parse()) << size;
  }
  for (std::size_t i = 0; i < whole.map.size(); i++)
    for (const unsigned flipped : {0x01U, 0x80U, 0xffU}) {
      Program torn = whole;
      torn.map[i] ^= static_cast<std::byte>(flipped);
      if (const auto types = torn.parse()) {
        EXPECT_LE(types->size(), 8U);
      }
    }
  Program few = whole;
  few.references.resize(8);
  EXPECT_FALSE(few.parse());
  Program other = whole;
  other.metadata[0] = std::byte{0};
  EXPECT_FALSE(other.parse());
}

}  // namespace
}  // namespace mixstack::dotnet::names
