// Damage of every kind to real images: errors or partial answers, never a crash, and bounded work.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/memory/buffer_memory.h"
#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"
#include "support/host_cpu.h"

namespace mixstack::images {
namespace {

using Bytes = std::vector<std::byte>;

Bytes real_image() {
  const auto file = *open_file_bytes(test::kLibdl);
  return {file->bytes().begin(), file->bytes().end()};
}

/// Everything that reads an image.
void exercise(const Bytes& bytes) {
  const auto image = ElfImage::from_file(buffer_file_bytes(bytes));
  if (image) {
    const auto unwind = (*image)->unwind_sections();
    ASSERT_LE(unwind.eh_frame.bytes.size(), bytes.size());
    (void)(*image)->dynamic_symbol("dlopen");
    for (const auto& s : (*image)->sections()) (void)(*image)->load(s);
    const auto table = SymbolTable::build(find_symbol_sources(*image, "/x", nullptr));
    for (std::uint64_t a = 0; a < 0x6000; a += 24) (void)table->find(a);
  }
  memory::BufferMemory memory;
  memory.add(0x10000, bytes);
  (void)ElfImage::from_memory(memory, 0x10000, 1 << 20);
}

TEST(DamagedElf, TruncatedAnywhere) {
  const auto good = real_image();
  for (std::size_t size = 0; size < good.size(); size += size < 4096 ? 7 : 211)
    exercise(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
}

TEST(DamagedElf, BitsFlipped) {
  const auto good = real_image();
  std::mt19937 random(1);
  for (int round = 0; round < 1500; round++) {
    auto bad = good;
    const std::size_t table = bad.size() - 2000;  // section headers
    for (int i = 0; i < 6; i++) {
      const std::size_t at = i < 3 ? random() % 0x400 : i == 3 ? table + random() % 2000 : random() % bad.size();
      bad[at] = static_cast<std::byte>(random());
    }
    exercise(bad);
  }
}

TEST(DamagedElf, HostileCountsAndSizes) {
  const auto good = real_image();
  const auto set = [&](std::size_t offset, auto value) {
    auto bad = good;
    std::memcpy(&bad[offset], &value, sizeof value);
    exercise(bad);
  };
  for (const std::uint64_t huge :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0x7fffffffffffffff}, std::uint64_t{good.size()}}) {
    set(offsetof(Elf64_Ehdr, e_shoff), huge);
    set(offsetof(Elf64_Ehdr, e_phoff), huge);
    for (std::size_t p = 0; p < 8; p++) {
      const std::size_t header = sizeof(Elf64_Ehdr) + p * sizeof(Elf64_Phdr);
      set(header + offsetof(Elf64_Phdr, p_offset), huge);
      set(header + offsetof(Elf64_Phdr, p_vaddr), huge);
      set(header + offsetof(Elf64_Phdr, p_filesz), huge);
      set(header + offsetof(Elf64_Phdr, p_memsz), huge);
    }
  }
  set(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{PN_XNUM});
  set(offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{0});
  set(offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{SHN_XINDEX});
}

TEST(DamagedElf, IdentifiesWhatItCannotRead) {
  auto bytes = real_image();
  bytes[EI_DATA] = std::byte{ELFDATA2MSB};
  EXPECT_EQ(ElfImage::from_file(buffer_file_bytes(bytes)).error().code, ErrorCode::unsupported);
  bytes[EI_DATA] = std::byte{ELFDATA2LSB};
  bytes[EI_CLASS] = std::byte{9};
  EXPECT_EQ(ElfImage::from_file(buffer_file_bytes(bytes)).error().code, ErrorCode::unsupported);
  bytes[0] = std::byte{0};
  EXPECT_EQ(ElfImage::from_file(buffer_file_bytes(bytes)).error().code, ErrorCode::malformed);
  Elf32_Ehdr small{};
  std::memcpy(small.e_ident, ELFMAG, SELFMAG);
  small.e_ident[EI_CLASS] = ELFCLASS32;
  small.e_ident[EI_DATA] = ELFDATA2LSB;
  small.e_machine = EM_ARM;
  Bytes arm(sizeof small);
  std::memcpy(arm.data(), &small, sizeof small);
  const auto image = ElfImage::from_file(buffer_file_bytes(arm));
  ASSERT_TRUE(image);
  EXPECT_FALSE((*image)->is_64_bit());
  EXPECT_EQ((*image)->arch(), Arch::arm);
}

}  // namespace
}  // namespace mixstack::images
