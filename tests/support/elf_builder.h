// A shared library of four pages: headers, code, data that is read-only after relocation, data that is written.
#pragma once

#include <elf.h>

#include "support/core_builder.h"

namespace mixstack::test {

struct ElfLayout {
  static constexpr std::uint64_t kCode = 0x1000, kRelro = 0x2000, kData = 0x3000, kEnd = 0x4000;
  static constexpr std::uint64_t kNote = 0x400, kRela = 0x500, kRelr = 0x800, kDynamic = 0x2000, kWords = 0x2100;
};

struct ElfOptions {
  std::string build_id = "0123456789abcdefghij";  ///< empty: none
  unsigned code = 0x90;                           ///< what its code page is full of
  std::uint16_t machine = EM_X86_64;
  std::vector<Elf64_Rela> rela = {};
  std::vector<std::uint64_t> relr = {};
};

namespace detail {

inline void put_headers(Bytes& file, const ElfOptions& options) {
  using L = ElfLayout;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = options.machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  std::vector<Elf64_Phdr> segments;
  const auto add = [&](std::uint32_t type, std::uint32_t flags, std::uint64_t begin, std::uint64_t size) {
    segments.push_back({type, flags, begin, begin, begin, size, size, 8});
  };
  add(PT_LOAD, PF_R, 0, L::kCode);
  add(PT_LOAD, PF_R | PF_X, L::kCode, L::kRelro - L::kCode);
  add(PT_LOAD, PF_R | PF_W, L::kRelro, L::kEnd - L::kRelro);
  add(PT_DYNAMIC, PF_R | PF_W, L::kDynamic, 0x100);
  add(PT_GNU_RELRO, PF_R, L::kRelro, L::kData - L::kRelro);
  if (!options.build_id.empty()) add(PT_NOTE, PF_R, L::kNote, 16 + options.build_id.size());
  header.e_phnum = static_cast<std::uint16_t>(segments.size());
  put(file, 0, header);
  for (std::size_t i = 0; i < segments.size(); i++) put(file, sizeof header + i * sizeof segments[i], segments[i]);
}

}  // namespace detail

inline Bytes build_elf(const ElfOptions& options = {}) {
  using L = ElfLayout;
  Bytes file(L::kEnd);
  detail::put_headers(file, options);
  const std::uint32_t note[] = {4, static_cast<std::uint32_t>(options.build_id.size()), NT_GNU_BUILD_ID, 0x554e47};
  put(file, L::kNote, note);
  for (std::size_t i = 0; i < options.build_id.size(); i++) put(file, L::kNote + 16 + i, options.build_id[i]);
  for (std::size_t i = 0; i < options.rela.size(); i++) put(file, L::kRela + i * 24, options.rela[i]);
  for (std::size_t i = 0; i < options.relr.size(); i++) put(file, L::kRelr + i * 8, options.relr[i]);
  const std::uint64_t dynamic[] = {
      DT_RELA, L::kRela, DT_RELASZ, options.rela.size() * 24, 36, L::kRelr, 35, options.relr.size() * 8, DT_NULL, 0};
  put(file, L::kDynamic, dynamic);
  std::fill_n(file.begin() + L::kCode, L::kRelro - L::kCode, static_cast<std::byte>(options.code));
  for (std::uint64_t at = L::kWords; at < L::kEnd; at += 8) put(file, at, at);  // each word its own link-time address
  return file;
}

}  // namespace mixstack::test
