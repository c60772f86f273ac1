#include "engine/images/image_relocations.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include "engine/images/file_bytes.h"
#include "support/elf_builder.h"
#include "support/mapped_pe.h"
#include "support/pe_builder.h"

namespace mixstack::images {
namespace {

using test::build_elf;
using test::Bytes;
using test::ElfLayout;

std::vector<Relocation> relocations_of(const test::ElfOptions& options) {
  const auto image = ElfImage::from_file(buffer_file_bytes(build_elf(options)));
  return image ? read_relocations(**image) : std::vector<Relocation>{};
}
Elf64_Rela rela(std::uint64_t at, std::uint32_t type, std::int64_t addend, std::uint32_t symbol = 0) {
  return {at, ELF64_R_INFO(symbol, type), addend};
}

TEST(ImageRelocations, RelativeOnesAreKnownAndOthersAreNot) {
  const auto list =
      relocations_of({.rela = {rela(0x2210, R_X86_64_RELATIVE, 0x1234), rela(0x2200, R_X86_64_GLOB_DAT, 0, 3),
                               rela(0x2208, R_X86_64_IRELATIVE, 0x1000), rela(0x2218, R_X86_64_NONE, 7),
                               rela(0x2210, R_X86_64_64, 9, 1)}});
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].address, 0x2200U);
  EXPECT_FALSE(list[0].known || list[1].known);
  EXPECT_EQ(list[2].address, 0x2210U);  // of two at one address the first counts
  EXPECT_TRUE(list[2].known);
  EXPECT_EQ(list[2].value, 0x1234U);
  EXPECT_EQ(relocations_of({.machine = EM_AARCH64, .rela = {rela(0x2200, R_AARCH64_RELATIVE, 5)}})[0].known, true);
  EXPECT_EQ(relocations_of({.machine = EM_AARCH64, .rela = {rela(0x2200, R_X86_64_RELATIVE, 5)}})[0].known, false);
}

TEST(ImageRelocations, PackedOnesHoldTheirAddendInPlace) {
  // An address, then a bitmap of the 63 words behind it, then a second bitmap of the next 63 (gABI).
  const auto list = relocations_of({.relr = {0x2200, 0b1011, 0b11}});
  ASSERT_EQ(list.size(), 4U);
  const std::uint64_t expected[] = {0x2200, 0x2208, 0x2218, 0x2208 + 63 * 8};
  for (std::size_t i = 0; i < list.size(); i++) {
    EXPECT_EQ(list[i].address, expected[i]);
    EXPECT_EQ(list[i].value, expected[i]);  // the builder fills words with their own addresses
    EXPECT_TRUE(list[i].known);
  }
}

TEST(ImageRelocations, PackedOnesDoNotWrapAround) {
  // The word behind this address is the image's first.
  EXPECT_TRUE(relocations_of({.relr = {0xfffffffffffffff8, ~0ULL}}).empty());
  EXPECT_TRUE(relocations_of({.relr = {0b111}}).empty());  // behind no address at all
  // Bitmap upon bitmap leads out of the image, and around if there were enough of them.
  std::vector<std::uint64_t> many(20, 1);
  many.front() = 0x2200;
  many.push_back(~0ULL);
  EXPECT_EQ(relocations_of({.relr = many}).size(), 1U);
}

std::vector<Relocation> relocations_of_pe(const test::PeOptions& options) {
  const Bytes file = test::build_pe(options);
  const auto image = PeImage::from_bytes(file, PeLayout::flat);
  return image ? read_relocations(*image) : std::vector<Relocation>{};
}

TEST(ImageRelocations, BaseRelocationsOfPe) {
  const auto list = relocations_of_pe({.words = {0x1800, 0x1808, 0x3000, 0x3ff8}});
  ASSERT_EQ(list.size(), 4U);
  const std::uint64_t expected[] = {0x1800, 0x1808, 0x3000, 0x3ff8};
  for (std::size_t i = 0; i < list.size(); i++)
    EXPECT_EQ(list[i].address == expected[i] && list[i].value == expected[i] && list[i].known, true) << i;
}

TEST(ImageRelocations, DamagedTablesOfPeEndThere) {
  const auto table = [](std::vector<std::uint32_t> words) { return relocations_of_pe({.table = std::move(words)}); };
  constexpr std::uint32_t kOne = 10U << 12;  // the page's first word, and padding
  EXPECT_EQ(table({0x3000, 12, kOne}).size(), 1U);
  EXPECT_EQ(table({0x3000, 12, kOne, 0x3000, 7, kOne}).size(), 1U);    // a block shorter than its head
  EXPECT_EQ(table({0x3000, 12, kOne, 0x3000, 0, kOne}).size(), 1U);    // which would never end
  EXPECT_EQ(table({0x3000, 12, kOne, 0x1000, ~0U, kOne}).size(), 1U);  // beyond the table
  EXPECT_TRUE(table({0x3000, 12, 3U << 12}).empty());                  // IMAGE_REL_BASED_HIGHLOW: none of 64 bits
  EXPECT_TRUE(table({0x3000, 12, kOne | 0xffc}).empty());              // cut by the end of its section
  EXPECT_TRUE(table({0xfffff000, 12, kOne | 0xfff}).empty());          // outside
  EXPECT_TRUE(table({0xfffffffc, 12, kOne | 0x104}).empty());          // and around, into the headers
  EXPECT_EQ(table({0x3000, 12, kOne, 0x3000, 12, kOne}).size(), 1U);   // one per address
  Bytes file = test::build_pe({.words = {0x3000}});
  test::put(file, test::PeLayoutOf::kDirectory + 4, std::uint32_t{0xffffffff});
  EXPECT_TRUE(read_relocations(*PeImage::from_bytes(file, PeLayout::flat)).empty());
}

TEST(ImageRelocations, DamagedTablesEndThere) {
  EXPECT_TRUE(relocations_of({}).empty());
  EXPECT_TRUE(relocations_of({.relr = {0x100000, ~0ULL, ~0ULL}}).empty());  // outside the file
  Bytes file = build_elf({.rela = {rela(0x2200, R_X86_64_RELATIVE, 1)}});
  test::put(file, ElfLayout::kDynamic + 24, ~std::uint64_t{0});  // DT_RELASZ
  const auto image = ElfImage::from_file(buffer_file_bytes(file));
  ASSERT_TRUE(image);
  EXPECT_TRUE(read_relocations(**image).empty());
}

TEST(ImageRelocations, WordsCutByTheEndsAreHandledBytewise) {
  const std::vector<Relocation> list{{0x100, 0x1122334455667788, true}, {0x108, 0, false}, {0x200, 1, true}};
  Bytes whole(24, std::byte{0xee});
  apply_relocations(list, 0x10, 0xfc, whole);
  std::uint64_t word = 0;
  std::memcpy(&word, whole.data() + 4, 8);
  EXPECT_EQ(word, 0x1122334455667798U);
  std::memcpy(&word, whole.data() + 12, 8);
  EXPECT_EQ(word, 0U);  // no pointer, rather than one that never was
  EXPECT_EQ(whole[3], std::byte{0xee});
  EXPECT_EQ(whole[20], std::byte{0xee});
  for (std::uint64_t from = 0xf8; from < 0x118; from++) {
    for (std::size_t size = 0; size < 12; size++) {
      Bytes all(0x200, std::byte{0xee}), part(size, std::byte{0xee});
      apply_relocations(list, 0x10, 0, all);
      apply_relocations(list, 0x10, from, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
}

struct Loaded {
  std::string path;
  std::uint64_t bias = 0;
  AddressRange relro;
};

std::vector<Loaded> loaded_libraries() {
  std::vector<Loaded> out;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        Loaded l{info->dlpi_name, info->dlpi_addr, {}};
        for (int i = 0; i < info->dlpi_phnum; i++)
          if (const auto& p = info->dlpi_phdr[i]; p.p_type == PT_GNU_RELRO)
            l.relro = {p.p_vaddr, p.p_vaddr + p.p_memsz};
        if (l.path.starts_with('/') && !l.relro.empty()) static_cast<std::vector<Loaded>*>(context)->push_back(l);
        return 0;
      },
      &out);
  return out;
}

/// Words of RELRO that are known, and how many of them are not what the dynamic linker made of them.
std::pair<std::size_t, std::size_t> compare_with_memory(const Loaded& library) {
  const auto file = open_file_bytes(library.path);
  if (!file) return {};
  const auto image = ElfImage::from_file(*file);
  if (!image) return {};
  std::size_t known = 0, wrong = 0;
  for (const Relocation& r : read_relocations(**image)) {
    if (!r.known || r.address < library.relro.begin || r.address + 8 > library.relro.end) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(library.bias + r.address), sizeof word);
    known++;
    wrong += word != r.value + library.bias ? 1 : 0;
  }
  return {known, wrong};
}

TEST(ImageRelocations, EveryKnownWordIsWhatTheDynamicLinkerMadeOfIt) {
  const auto coreclr = test::framework_file("libcoreclr.so");
  void* handle = coreclr.empty() ? nullptr : ::dlopen(coreclr.c_str(), RTLD_LAZY | RTLD_LOCAL);
  std::size_t libraries = 0;
  for (const Loaded& library : loaded_libraries()) {
    const auto [known, wrong] = compare_with_memory(library);
    EXPECT_EQ(wrong, 0U) << library.path << ": of " << known;
    libraries += known != 0 ? 1 : 0;
    const bool is_large = library.path.ends_with("/libc.so.6") || library.path.ends_with("/libcoreclr.so");
    EXPECT_GT(known, is_large ? 100U : 0U) << library.path;
    std::printf("%s: %zu words\n", library.path.c_str(), known);
  }
  EXPECT_GE(libraries, handle != nullptr ? 3U : 2U);
}

}  // namespace
}  // namespace mixstack::images
