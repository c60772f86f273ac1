// Images as just-in-time compilers make them for GDB: an object file with the place of its code, symbols and .eh_frame.
// Uses nothing of the project: a debuggee registers such images, too.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mixstack::test {

using JitBytes = std::vector<std::byte>;

/// A function without frame pointer that calls its argument once and returns.
struct JitFunction {
  std::string name;
  std::uint64_t offset = 0;  ///< in the code
};

inline constexpr std::uint8_t kX86JitCode[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3};
inline constexpr std::uint32_t kArm64JitCode[] = {0xf81e0ffe, 0xd63f0000, 0xf84207fe, 0xd65f03c0};

[[nodiscard]] inline std::size_t jit_code_size(std::uint16_t machine) {
  return machine == EM_AARCH64 ? sizeof kArm64JitCode : sizeof kX86JitCode;
}
inline void put_jit_code(std::uint16_t machine, void* at) {
  if (machine == EM_AARCH64) {
    std::memcpy(at, kArm64JitCode, sizeof kArm64JitCode);
  } else {
    std::memcpy(at, kX86JitCode, sizeof kX86JitCode);
  }
}

template <class T>
void append_jit(JitBytes& bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}
inline void append_list(JitBytes& bytes, std::initializer_list<unsigned> list) {
  for (const unsigned one : list) bytes.push_back(static_cast<std::byte>(one));
}

/// With absolute addresses.
inline JitBytes jit_eh_frame(std::uint16_t machine, std::uint64_t code, const std::vector<JitFunction>& functions) {
  const bool is_arm = machine == EM_AARCH64;
  JitBytes bytes;
  const auto entry = [&](JitBytes body) {
    while (body.size() % 8 != 4) body.push_back(std::byte{0});  // DW_CFA_nop
    append_jit(bytes, static_cast<std::uint32_t>(body.size()));
    bytes.insert(bytes.end(), body.begin(), body.end());
  };
  JitBytes cie;
  append_jit(cie, std::uint32_t{0});
  append_list(cie, {1, 'z', 'R', 0, 1, 0x78, is_arm ? 30u : 16u, 1, 0});
  if (is_arm) {
    append_list(cie, {0x0c, 31, 0});
  } else {
    append_list(cie, {0x0c, 7, 8, 0x90, 1});
  }
  entry(std::move(cie));
  for (const JitFunction& f : functions) {
    JitBytes fde;
    append_jit(fde, static_cast<std::uint32_t>(bytes.size() + 4));  // back to the CIE
    append_jit(fde, code + f.offset);
    append_jit(fde, std::uint64_t{jit_code_size(machine)});
    append_list(fde, {0});
    if (is_arm) {
      append_list(fde, {0x44, 0x0e, 32, 0x9e, 4, 0x48, 0x0e, 0, 0xde});
    } else {
      append_list(fde, {0x44, 0x0e, 32, 0x46, 0x0e, 8});
    }
    entry(std::move(fde));
  }
  append_jit(bytes, std::uint32_t{0});
  return bytes;
}

/// `eh_frame` empty: without.
inline JitBytes build_jit_elf(std::uint16_t machine, std::uint64_t code, std::uint64_t code_size,
                              const std::vector<JitFunction>& functions, const JitBytes& eh_frame) {
  std::string strings(1, '\0'), names = std::string("\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab\0", 43);
  const auto name_of = [&](std::string_view name) { return static_cast<Elf64_Word>(names.find(name)); };
  std::vector<Elf64_Sym> symbols(1);
  for (const JitFunction& f : functions) {
    symbols.push_back({static_cast<Elf64_Word>(strings.size()), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, f.offset,
                       jit_code_size(machine)});
    strings += f.name;
    strings += '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 6;
  header.e_shstrndx = 5;
  JitBytes file(sizeof header);
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](std::string_view name, Elf64_Word type, Elf64_Xword flags, const void* bytes, std::size_t size) {
    while (file.size() % 8 != 0) file.push_back(std::byte{0});
    Elf64_Shdr s{};
    s.sh_name = name_of(name);
    s.sh_type = type;
    s.sh_flags = flags;
    s.sh_offset = file.size();
    s.sh_size = size;
    s.sh_addralign = 8;
    sections.push_back(s);
    const auto* from = static_cast<const std::byte*>(bytes);
    if (type != SHT_NOBITS) file.insert(file.end(), from, from + size);
  };
  add(".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, nullptr, code_size);
  sections.back().sh_addr = code;
  add(".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh_frame.data(), eh_frame.size());
  add(".symtab", SHT_SYMTAB, 0, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  sections.back().sh_link = 4;
  sections.back().sh_info = 1;
  sections.back().sh_entsize = sizeof(Elf64_Sym);
  add(".strtab", SHT_STRTAB, 0, strings.data(), strings.size());
  add(".shstrtab", SHT_STRTAB, 0, names.data(), names.size());
  while (file.size() % 8 != 0) file.push_back(std::byte{0});
  header.e_shoff = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  for (const Elf64_Shdr& s : sections) append_jit(file, s);
  return file;
}

}  // namespace mixstack::test
