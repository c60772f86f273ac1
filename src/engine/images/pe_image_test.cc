#include "engine/images/pe_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "base/memory/buffer_memory.h"
#include "engine/images/file_bytes.h"
#include "support/host_cpu.h"

namespace mixstack::images {
namespace {

std::vector<std::string> framework_assemblies() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& e :
       std::filesystem::recursive_directory_iterator("/usr/share/dotnet/shared/Microsoft.NETCore.App", error))
    if (e.path().extension() == ".dll") paths.push_back(e.path());
  return paths;
}

std::uint32_t word(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// As the runtime maps an image: headers, then each section at its RVA.
std::vector<std::byte> mapped_copy(const PeImage& flat, std::span<const std::byte> file) {
  std::vector<std::byte> out(flat.size_of_image());
  std::memcpy(out.data(), file.data(), std::min<std::size_t>(flat.size_of_headers(), file.size()));
  for (const auto& s : flat.sections())
    std::memcpy(&out[s.rva], &file[s.raw_offset], std::min({s.raw_size, s.virtual_size}));
  return out;
}

TEST(PeImage, FindsMetadataAndReadyToRunHeaderOfTheFramework) {
  const auto paths = framework_assemblies();
  if (paths.empty()) GTEST_SKIP() << "no .NET framework installed";
  std::size_t precompiled = 0;
  for (const auto& path : paths) {
    const auto holder = *open_file_bytes(path);
    const auto file = holder->bytes();
    const auto flat = PeImage::from_bytes(file, PeLayout::flat);
    ASSERT_TRUE(flat) << path;
    const auto cli = flat->cli_header();
    ASSERT_TRUE(cli) << path;
    EXPECT_EQ(word(flat->bytes(cli->metadata.rva, 4)), 0x424a5342u) << path;  // "BSJB"
    if (cli->managed_native_header.empty()) continue;
    precompiled++;
    EXPECT_EQ(word(flat->bytes(cli->managed_native_header.rva, 4)), 0x00525452u) << path;  // "RTR"
    EXPECT_EQ(flat->machine().os, PeOs::linux) << path;
    EXPECT_EQ(flat->machine().arch, test::kHostCpu) << path;
    EXPECT_TRUE(flat->is_pe32_plus());

    const auto copy = mapped_copy(*flat, file);
    memory::BufferMemory memory;
    memory.add(0x7f0000000000, copy);
    const auto mapped = PeImage::from_memory(memory, 0x7f0000000000, PeLayout::mapped);
    ASSERT_TRUE(mapped) << path;
    const auto same = mapped->cli_header();
    ASSERT_TRUE(same) << path;
    EXPECT_EQ(same->metadata.rva, cli->metadata.rva);
    EXPECT_EQ(*mapped->address_of(cli->metadata.rva, 4), 0x7f0000000000 + cli->metadata.rva);
    const auto exceptions = flat->directory(PeDirectoryId::exception);
    std::vector<std::byte> rows(exceptions.size);
    ASSERT_TRUE(mapped->read(exceptions.rva, rows)) << path;
    const auto expected = flat->bytes(exceptions.rva, exceptions.size);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end())) << path;
  }
  EXPECT_GT(precompiled, 50u);
}

TEST(PeImage, DecodesMachineAndSystem) {
  EXPECT_EQ(decode_pe_machine(0xfd1d).arch, Arch::x86_64);
  EXPECT_EQ(decode_pe_machine(0xfd1d).os, PeOs::linux);
  EXPECT_EQ(decode_pe_machine(0xd11d).arch, Arch::aarch64);
  EXPECT_EQ(decode_pe_machine(0xd11d).os, PeOs::linux);
  EXPECT_EQ(decode_pe_machine(0x8664).os, PeOs::windows);
  EXPECT_EQ(decode_pe_machine(0x1234).arch, Arch::unknown);
}

TEST(PeImage, DamagedHeadersAreErrorsNotCrashes) {
  const auto paths = framework_assemblies();
  if (paths.empty()) GTEST_SKIP() << "no .NET framework installed";
  const auto file = *open_file_bytes(paths.front());
  const auto head = file->range(0, std::min<std::uint64_t>(file->size(), 4096));
  std::mt19937 random(1);
  for (int round = 0; round < 20000; round++) {
    std::vector<std::byte> bytes(head.begin(), head.end());
    for (int i = 0; i < 4; i++) bytes[random() % 512] = static_cast<std::byte>(random());
    bytes.resize(random() % bytes.size());
    for (const auto layout : {PeLayout::flat, PeLayout::mapped}) {
      const auto image = PeImage::from_bytes(bytes, layout);
      if (image) (void)image->cli_header();
    }
  }
}

}  // namespace
}  // namespace mixstack::images
