#include "dotnet/names/runtime_modules.h"

#include <gtest/gtest.h>

#include "support/fake_names_runtime.h"

namespace mixstack::dotnet::names {
namespace {

using test::ByteWriter;

constexpr std::uint32_t kSectionRva = 0x2000, kSectionOffset = 0x200, kImageSize = 0x4000;

/// A PE32 file with one section that holds a CLI header and metadata (ECMA-335 II.25).
std::vector<std::byte> pe_file(const std::vector<std::byte>& metadata) {
  ByteWriter w;
  w.text("MZ").align(0x3c);
  while (w.bytes.size() < 0x3c) w.u8(0);
  w.u32(0x40).text("PE").u16(0).u16(0x14c).u16(1).u32(0).u64(0).u16(224).u16(0x2102);
  const std::size_t optional = w.bytes.size();
  w.u16(0x10b);
  while (w.bytes.size() < optional + 56) w.u8(0);
  w.u32(kImageSize).u32(kSectionOffset);
  while (w.bytes.size() < optional + 92) w.u8(0);
  w.u32(16);
  for (int d = 0; d < 16; d++) w.u32(d == 14 ? kSectionRva : 0).u32(d == 14 ? 72 : 0);
  w.text(".text").u8(0).u16(0).u32(72 + metadata.size()).u32(kSectionRva).u32(72 + metadata.size() + 8);
  w.u32(kSectionOffset).u64(0).u32(0).u32(0x60000020);
  while (w.bytes.size() < kSectionOffset) w.u8(0);
  w.u32(72).u16(2).u16(5).u32(kSectionRva + 72).u32(metadata.size());
  while (w.bytes.size() < kSectionOffset + 72) w.u8(0);
  w.append(metadata).align(16).u64(0);
  return w.bytes;
}

struct HeldFile final : FileBytes {
  explicit HeldFile(std::vector<std::byte> b) : held(std::move(b)) {}
  [[nodiscard]] std::span<const std::byte> bytes() const override { return held; }
  std::vector<std::byte> held;
};

class RuntimeModulesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::MetadataBuilder b;
    b.module("on_disk.dll");
    b.assembly("OnDisk");
    file_ = pe_file(b.build());
    auto& l = runtime_.layouts;
    l.pe_image.loaded_image_layout.offset = 8;
    l.pe_image_layout.base.offset = 8, l.pe_image_layout.size.offset = 16, l.pe_image_layout.flags.offset = 20;
  }
  std::vector<std::byte> mapped() const {
    std::vector<std::byte> out(kImageSize);
    std::copy_n(file_.begin(), kSectionOffset, out.begin());
    std::copy(file_.begin() + kSectionOffset, file_.end(), out.begin() + kSectionRva);
    return out;
  }
  /// A Module whose image lies at `base`; without the chain of objects only Module.Base is set.
  Address module(Address base, std::uint32_t size, std::uint32_t flags, bool chain = true) {
    const Address at = runtime_.place(), assembly = runtime_.place(), pe_assembly = runtime_.place();
    const Address image = runtime_.place(), layout = runtime_.place(), path = runtime_.place();
    runtime_.memory.add(
        at, ByteWriter().u64(assembly).u64(chain ? pe_assembly : 0).u64(base).u64(0).u64(path).u64(0).bytes);
    runtime_.memory.add_value(assembly, std::uint64_t{0});
    runtime_.memory.add(pe_assembly, ByteWriter().u64(0).u64(image).bytes);
    runtime_.memory.add(image, ByteWriter().u64(0).u64(layout).bytes);
    runtime_.memory.add(layout, ByteWriter().u64(0).u64(base).u32(size).u32(flags).bytes);
    std::vector<std::byte> wide;
    for (const char c : std::string_view("/app/on_disk.dll\0", 17)) {
      wide.push_back(static_cast<std::byte>(c));
      wide.push_back(std::byte{0});
    }
    wide.resize(256);
    runtime_.memory.add(path, wide);
    return at;
  }
  RuntimeModules modules(FileOpener opener = {}) {
    return RuntimeModules(runtime_.runtime(), runtime_.memory, std::move(opener));
  }

  FakeRuntime runtime_;
  std::vector<std::byte> file_;
  static constexpr Address kBase = 0x7f0000000000;
};

TEST_F(RuntimeModulesTest, MappedImage) {
  runtime_.memory.add(kBase, mapped());
  auto m = modules();
  const ModuleFacts& facts = m.at(module(kBase, kImageSize, 7));
  ASSERT_NE(facts.metadata, nullptr);
  EXPECT_EQ(facts.source, MetadataSource::memory);
  EXPECT_EQ(facts.assembly, "OnDisk");
  EXPECT_EQ(facts.path, "/app/on_disk.dll");
  EXPECT_FALSE(facts.is_emitted);
}

TEST_F(RuntimeModulesTest, FlatImage) {
  runtime_.memory.add(kBase, file_);
  auto m = modules();
  EXPECT_EQ(m.at(module(kBase, static_cast<std::uint32_t>(file_.size()), 0x172)).assembly, "OnDisk");
}

TEST_F(RuntimeModulesTest, OnlyTheBaseIsKnown) {
  runtime_.memory.add(kBase, file_);
  auto m = modules();
  EXPECT_EQ(m.at(module(kBase, 0, 0, false)).assembly, "OnDisk");
  runtime_.memory.add(kBase + 0x100000, mapped());
  EXPECT_EQ(m.at(module(kBase + 0x100000, 0, 0, false)).assembly, "OnDisk");
}

TEST_F(RuntimeModulesTest, FileWhenMemoryIsNotHeld) {
  std::string asked;
  const auto opener = [&](const std::string& path) -> Result<std::shared_ptr<const FileBytes>> {
    asked = path;
    return std::make_shared<HeldFile>(file_);
  };
  auto m = modules(opener);
  const ModuleFacts& facts = m.at(module(kBase, kImageSize, 7));
  EXPECT_EQ(asked, "/app/on_disk.dll");
  EXPECT_EQ(facts.source, MetadataSource::file);
  EXPECT_EQ(facts.assembly, "OnDisk");
  // Another file lies there now.
  const ModuleFacts& other = m.at(module(kBase, kImageSize + 0x1000, 7));
  EXPECT_EQ(other.metadata, nullptr);
  EXPECT_EQ(other.error.code, ErrorCode::unreadable_memory);
  EXPECT_EQ(other.assembly, "on_disk");  // from its path
}

TEST_F(RuntimeModulesTest, FailuresAndTransientModulesAreForgotten) {
  auto m = modules();
  const Address at = module(kBase, kImageSize, 7);
  EXPECT_EQ(m.at(at).metadata, nullptr);
  runtime_.memory.add(kBase, mapped());
  EXPECT_EQ(m.at(at).metadata, nullptr);  // kept within one capture
  m.forget_transient();
  EXPECT_NE(m.at(at).metadata, nullptr);
}

TEST_F(RuntimeModulesTest, NonsenseIsNoModule) {
  auto m = modules();
  EXPECT_EQ(m.at(0).metadata, nullptr);
  EXPECT_EQ(m.at(0x1234567).error.code, ErrorCode::not_found);
}

}  // namespace
}  // namespace mixstack::dotnet::names
