#include "agent/in_process/composite_image.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/memory/buffer_memory.h"

namespace mixstack::agent {
namespace {

TEST(CompositeImage, TheFirstPageOfAFileAmongTheMappings) {
  constexpr std::string_view kMaps =
      "7f0000000000-7f0000001000 r--p 00000000 08:01 12                         /a b/code.r2r.dll\n"
      "7f0000001000-7f0000009000 r-xp 00001000 08:01 12                         /a b/code.r2r.dll\n"
      "7f0000010000-7f0000011000 rw-p 00000000 00:00 0 \n"
      "nonsense\n"
      "7f0000020000-7f0000021000 r--p 00000000 08:01 13                         /a b/code.r2r.dll (deleted)\n"
      "7f0000030000-7f0000031000 r--s 00000000 08:01 12                         /a b/code.r2r.dll";
  EXPECT_EQ(mappings_of(kMaps, "/a b/code.r2r.dll"), (std::vector<Address>{0x7f0000000000, 0x7f0000030000}));
  EXPECT_TRUE(mappings_of(kMaps, "/a b/other.dll").empty());
  EXPECT_TRUE(mappings_of("", "").empty());
}

/// The headers of an image whose ReadyToRun header has one section with the given contents.
class ComponentImage : public testing::Test {
 protected:
  static constexpr Address kBase = 0x7f0000400000;
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(&bytes_[at], &value, sizeof(value));
  }
  void SetUp() override {
    put<std::uint16_t>(0, 0x5a4d), put<std::uint32_t>(0x3c, 0x80);
    put<std::uint16_t>(0x98, 0x20b), put<std::uint32_t>(0x98 + 56, 0x600), put<std::uint32_t>(0x98 + 224, 0x200);
    put<std::uint32_t>(0x200 + 64, 0x280);
    put<std::uint32_t>(0x280, 0x00525452), put<std::uint32_t>(0x280 + 12, 1);
    put<std::uint32_t>(0x290, 116), put<std::uint32_t>(0x294, 0x300);
  }
  [[nodiscard]] std::optional<std::string> owner(std::string_view name) {
    put<std::uint32_t>(0x298, static_cast<std::uint32_t>(name.size()));
    std::memcpy(&bytes_[0x300], name.data(), name.size());
    memory::BufferMemory memory;
    memory.add(kBase, bytes_);
    EXPECT_FALSE(CodeImage::at(kBase, Arch::x86_64, memory)) << "it has no code of its own";
    return owner_composite(kBase, memory);
  }
  std::vector<std::byte> bytes_ = std::vector<std::byte>(0x600);
};

TEST_F(ComponentImage, SaysWhichFileHasItsCode) {
  EXPECT_EQ(owner(std::string_view("framework-r2r.dll\0", 18)), "framework-r2r.dll");
  EXPECT_EQ(owner("framework-r2r.dll"), "framework-r2r.dll");
}

TEST_F(ComponentImage, WhatCannotBeAFileNameIsNone) {
  EXPECT_FALSE(owner(""));
  EXPECT_FALSE(owner("../../evil.dll"));
  put<std::uint32_t>(0x294, 0x5fff'0000);
  EXPECT_FALSE(owner("a.dll")) << "outside of the image";
}

}  // namespace
}  // namespace mixstack::agent
