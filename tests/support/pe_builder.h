// A small PE image with code, data and base relocations, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::test {

/// Where things lie. File offsets and RVAs are equal within a page, as images that are mapped must have them; the code
/// starts in the file's first page, as that of ReadyToRun images does.
struct PeLayoutOf {
  static constexpr std::uint32_t kCode = 0x1400, kCodeOffset = 0x400, kCodeSize = 0xc00;  // RVA, offset in the file
  static constexpr std::uint32_t kData = 0x3000, kDataOffset = 0x1000, kDataSize = 0x1000;
  static constexpr std::uint32_t kTable = 0x5000, kTableOffset = 0x2000, kTableSize = 0x400;
  static constexpr std::uint32_t kImageSize = 0x6000, kFileSize = 0x2400;
  static constexpr std::uint64_t kPreferredBase = 0x180000000;
  static constexpr std::uint32_t kDirectory = 0x80 + 24 + 112 + 5 * 8;  // of base relocations, in the file
};

struct PeOptions {
  std::uint16_t machine = 0x8664;
  std::uint8_t code = 0x90;               ///< every byte of the code
  std::vector<std::uint32_t> words = {};  ///< RVAs of pointers that point to themselves, ascending, in code or data
  std::vector<std::uint32_t> table = {};  ///< instead of the relocations of `words`: raw words of the table
};

namespace detail {

template <class T>
void place(std::vector<std::byte>& file, std::size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

inline void put_section(std::vector<std::byte>& file, unsigned number, std::uint32_t rva, std::uint32_t offset,
                        std::uint32_t size, std::uint32_t flags) {
  const std::size_t at = 0x80 + 24 + 240 + std::size_t{number} * 40;
  place(file, at + 8, size);
  place(file, at + 12, rva);
  place(file, at + 16, size);
  place(file, at + 20, offset);
  place(file, at + 36, flags);
}

/// One block per page: page, size, and an entry of type 10 (IMAGE_REL_BASED_DIR64) per word.
inline std::vector<std::uint32_t> relocation_table(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint32_t> table;
  for (std::size_t i = 0; i < words.size();) {
    const std::uint32_t page = words[i] & ~0xfffU;
    std::vector<std::uint32_t> entries;
    for (; i < words.size() && (words[i] & ~0xfffU) == page; i++) entries.push_back(10U << 12 | (words[i] & 0xfffU));
    if (entries.size() % 2 != 0) entries.push_back(0);
    table.push_back(page);
    table.push_back(static_cast<std::uint32_t>(8 + entries.size() * 2));
    for (std::size_t e = 0; e < entries.size(); e += 2) table.push_back(entries[e] | entries[e + 1] << 16);
  }
  return table;
}

}  // namespace detail

inline std::uint32_t pe_offset_of(std::uint32_t rva) {
  using L = PeLayoutOf;
  return rva >= L::kData ? rva - L::kData + L::kDataOffset : rva - L::kCode + L::kCodeOffset;
}

inline std::vector<std::byte> build_pe(const PeOptions& options) {
  using L = PeLayoutOf;
  using detail::place;
  std::vector<std::byte> file(L::kFileSize);
  place(file, 0, std::uint16_t{0x5a4d});
  place(file, 0x3c, std::uint32_t{0x80});
  place(file, 0x80, std::uint32_t{0x4550});
  place(file, 0x84, options.machine);
  place(file, 0x86, std::uint16_t{3});    // sections
  place(file, 0x94, std::uint16_t{240});  // size of what follows
  const std::size_t optional = 0x80 + 24;
  place(file, optional, std::uint16_t{0x20b});
  place(file, optional + 24, L::kPreferredBase);
  place(file, optional + 32, std::uint32_t{0x1000});
  place(file, optional + 36, std::uint32_t{0x200});
  place(file, optional + 56, L::kImageSize);
  place(file, optional + 60, std::uint32_t{0x400});
  place(file, optional + 108, std::uint32_t{16});
  const auto table = options.table.empty() ? detail::relocation_table(options.words) : options.table;
  place(file, L::kDirectory, L::kTable);
  place(file, L::kDirectory + 4, static_cast<std::uint32_t>(table.size() * 4));
  detail::put_section(file, 0, L::kCode, L::kCodeOffset, L::kCodeSize, 0x60000020);  // read, execute
  detail::put_section(file, 1, L::kData, L::kDataOffset, L::kDataSize, 0xc0000040);  // read, write
  detail::put_section(file, 2, L::kTable, L::kTableOffset, L::kTableSize, 0x42000040);
  std::fill_n(file.begin() + L::kCodeOffset, L::kCodeSize, static_cast<std::byte>(options.code));
  for (const std::uint32_t rva : options.words) place(file, pe_offset_of(rva), L::kPreferredBase + rva);
  const auto bytes = std::as_bytes(std::span(table));
  std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), L::kTableSize), file.begin() + L::kTableOffset);
  return file;
}

/// A part of an image that lies at `base`, as the kernel tells it.
inline Region pe_mapping(Address base, std::uint32_t rva, std::uint32_t size, std::uint32_t offset, bool executable) {
  Region r;
  r.range = {base + rva, base + rva + size};
  r.file_offset = offset;
  r.inode = 7;
  r.readable = true;
  r.executable = executable;
  r.path = "/a.dll";
  return r;
}

}  // namespace mixstack::test
