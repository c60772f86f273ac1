#include "process/pack/core_layout.h"

#include <elf.h>

#include <cstring>

#include "base/arch/cpu.h"
#include "process/kernel/memory_map.h"

namespace mixstack::pack {
namespace {

template <class T>
void append(std::vector<std::byte>& out, const T& value) {
  // One by one: GCC 12 at -O3 misreads inserts of a few bytes (its bug 105651).
  for (const std::byte b : std::as_bytes(std::span<const T, 1>(&value, 1))) out.push_back(b);
}

[[nodiscard]] Elf64_Ehdr header_of(Arch arch, std::size_t segments) {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_CORE;
  h.e_machine = arch::cpu(arch).elf.machine;
  h.e_version = EV_CURRENT;
  h.e_ehsize = sizeof(Elf64_Ehdr);
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phoff = sizeof(Elf64_Ehdr);
  h.e_phnum = static_cast<Elf64_Half>(segments);
  if (segments >= PN_XNUM) {  // gABI, "extended numbering": section header 0 has the number
    h.e_phnum = PN_XNUM;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = 1;
    h.e_shoff = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr);
  }
  return h;
}

[[nodiscard]] std::uint32_t flags_at(std::span<const Region> regions, Address address) {
  const Region* r = process::find_region(regions, address);
  if (r == nullptr) return PF_R;
  return (r->readable ? PF_R : 0U) | (r->writable ? PF_W : 0U) | (r->executable ? PF_X : 0U);
}

}  // namespace

CoreLayout::CoreLayout(Arch arch, std::vector<std::byte> notes, std::vector<CorePiece> pieces,
                       std::span<const Region> regions)
    : pieces_(std::move(pieces)) {
  const std::size_t segments = pieces_.size() + 1;
  const bool is_extended = segments >= PN_XNUM;
  append(head_, header_of(arch, segments));
  std::uint64_t at = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr) + (is_extended ? sizeof(Elf64_Shdr) : 0);
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = at;
  note.p_filesz = notes.size();
  note.p_align = 4;
  append(head_, note);
  at += notes.size();
  for (const CorePiece& piece : pieces_) {
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = flags_at(regions, piece.range.begin);
    load.p_offset = at;
    load.p_vaddr = piece.range.begin;
    load.p_filesz = load.p_memsz = piece.range.size();
    load.p_align = 1;
    append(head_, load);
    at += piece.range.size();
  }
  if (is_extended) {
    Elf64_Shdr first{};
    first.sh_info = static_cast<Elf64_Word>(segments);
    append(head_, first);
  }
  head_.insert(head_.end(), notes.begin(), notes.end());
  size_ = at;
}

}  // namespace mixstack::pack
