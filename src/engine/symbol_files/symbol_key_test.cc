#include "engine/symbol_files/symbol_key.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mixstack::symbol_files {
namespace {

images::BuildId build_id(std::size_t size) {
  constexpr std::array<std::uint8_t, 20> kId{0x18, 0x0a, 0x37, 0x3d, 0x6a, 0xfb, 0xab, 0xf0, 0xeb, 0x1f,
                                             0x09, 0xbe, 0x1b, 0xc4, 0x5b, 0xd7, 0x96, 0xa7, 0x10, 0x85};
  images::BuildId id;
  id.size = static_cast<std::uint8_t>(size);
  std::copy_n(kId.begin(), size, id.bytes.begin());
  return id;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// The examples of dotnet/symstore, docs/specs/SSQP_Key_Conventions.md.
TEST(SymbolKey, KeysOfElfFilesAreThoseOfTheSpecification) {
  EXPECT_EQ(SymbolKey::debug_file(build_id(20), "/lib/foo.so", "").store_key(),
            "_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd796a71085/_.debug");
  EXPECT_EQ(SymbolKey::debug_file(build_id(16), "/lib/bar.so", "").store_key(),
            "_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd700000000/_.debug");
  EXPECT_EQ(SymbolKey::executable(build_id(20), "/lib/Foo.so").store_key(),
            "foo.so/elf-buildid-180a373d6afbabf0eb1f09be1bc45bd796a71085/foo.so");
}

TEST(SymbolKey, KeysOfPdbsHaveTheGuidAndNoAge) {
  // { 0x497B72F6, 0x390A, 0x44FC, { 0x87, 0x8E, 0x5A, 0x2D, 0x63, 0xB6, 0xCC, 0x4B } } as it lies in a file.
  constexpr std::array<std::uint8_t, 20> kId{0xf6, 0x72, 0x7b, 0x49, 0x0a, 0x39, 0xfc, 0x44, 0x87, 0x8e,
                                             0x5a, 0x2d, 0x63, 0xb6, 0xcc, 0x4b, 1,    2,    3,    4};
  std::array<std::byte, 20> id;
  std::transform(kId.begin(), kId.end(), id.begin(), [](std::uint8_t b) { return std::byte{b}; });
  EXPECT_EQ(guid_text(id, false), "497b72f6-390a-44fc-878e-5a2d63b6cc4b");
  const SymbolKey key = SymbolKey::pdb(id, "C:\\build\\Foo.pdb");
  EXPECT_EQ(key.store_key(), "foo.pdb/497b72f6390a44fc878e5a2d63b6cc4bffffffff/foo.pdb");
  EXPECT_EQ(key.cache_name(), "497b72f6390a44fc878e5a2d63b6cc4b01020304.pdb");
  EXPECT_EQ(key.debuginfod_path(), "");
  const auto paths = key.paths_in_folder();
  EXPECT_TRUE(has(paths, "Foo.pdb/497B72F6390A44FC878E5A2D63B6CC4BFFFFFFFF/Foo.pdb"));
  EXPECT_TRUE(has(paths, "foo.pdb/497b72f6390a44fc878e5a2d63b6cc4bFFFFFFFF/foo.pdb"));
  EXPECT_TRUE(has(paths, "Foo.pdb"));
}

TEST(SymbolKey, DebugFilesLieInFoldersInManyWays) {
  const auto paths = SymbolKey::debug_file(build_id(20), "/app/libx.so", "libx.so.dbg").paths_in_folder();
  for (const char* path : {".build-id/18/0a373d6afbabf0eb1f09be1bc45bd796a71085.debug",
                           "180a373d6afbabf0eb1f09be1bc45bd796a71085/debuginfo",
                           "_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd796a71085/_.debug", "libx.so.dbg",
                           "libx.so.debug", "libx.so"})
    EXPECT_TRUE(has(paths, path)) << path;
  EXPECT_EQ(SymbolKey::debug_file(build_id(20), "/a/b", "").debuginfod_path(),
            "buildid/180a373d6afbabf0eb1f09be1bc45bd796a71085/debuginfo");
  EXPECT_EQ(SymbolKey::executable(build_id(4), "/a/b").debuginfod_path(), "buildid/180a373d/executable");
}

TEST(SymbolKey, NamesOfATargetLeadNowhere) {
  for (const char* name : {"..", ".", "", "a b", "a/../b/", "a%2fb", "a\nb", "-rf", ".hidden", "a\\", "a?b", "a#b"}) {
    const SymbolKey key = SymbolKey::executable(build_id(20), std::string("/x/") + name);
    EXPECT_TRUE(key.name.empty() || is_harmless(key.name)) << name;
    EXPECT_EQ(key.store_key().find(".."), std::string::npos);
  }
  EXPECT_EQ(SymbolKey::executable(build_id(20), "/x/a b").store_key(), "");
  EXPECT_FALSE(is_harmless(std::string(129, 'a')));
  EXPECT_TRUE(is_harmless("libstdc++.so.6.0.30"));
  EXPECT_TRUE(SymbolKey::debug_file(build_id(20), "/x/y", "../../etc/passwd").paths_in_folder().back() == "y");
}

TEST(SymbolKey, WithoutAnIdNothingIsAsked) {
  EXPECT_TRUE(SymbolKey::debug_file({}, "/x", "x.debug").empty());
  EXPECT_TRUE(SymbolKey::debug_file(build_id(3), "/x", "").empty());
  EXPECT_FALSE(SymbolKey::debug_file(build_id(4), "/x", "").empty());
}

}  // namespace
}  // namespace mixstack::symbol_files
