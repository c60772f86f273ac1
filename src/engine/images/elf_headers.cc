#include "engine/images/elf_headers.h"

#include <elf.h>

#include <algorithm>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"

namespace mixstack::images {
namespace {

// Bounds on hostile counts; the largest real images (Chromium, kernels built with function sections) stay far below.
constexpr std::uint64_t kMaxSegments = 512;
constexpr std::uint64_t kMaxSections = 1u << 17;
constexpr std::size_t kMaxSectionName = 256;
constexpr std::uint64_t kMaxNoteSteps = 4096;

struct Class32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
};
struct Class64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
};

/// Counts too large for their 16 bits stand in section header 0 (gABI "ELF Header", PN_XNUM).
template <class C>
void resolve_extended_counts(FileView file, const typename C::Ehdr& e, ElfHeader& h) {
  const bool extended = e.e_phnum == PN_XNUM || e.e_shnum == 0 || e.e_shstrndx == SHN_XINDEX;
  if (!extended || h.section_table == 0) return;
  const auto zero = base::load_at<typename C::Shdr>(file.range(h.section_table, sizeof(typename C::Shdr)), 0);
  if (!zero) return;
  if (e.e_phnum == PN_XNUM) h.segment_count = zero->sh_info;
  if (e.e_shnum == 0) h.section_count = static_cast<std::uint32_t>(std::min<std::uint64_t>(zero->sh_size, 0xffffffffu));
  if (e.e_shstrndx == SHN_XINDEX) h.section_names = zero->sh_link;
}

template <class C>
Result<ElfHeader> parse_header_of(FileView file) {
  const auto e = base::load_at<typename C::Ehdr>(file.range(0, sizeof(typename C::Ehdr)), 0);
  if (!e) return fail(ErrorCode::truncated, sizeof(typename C::Ehdr));
  ElfHeader h;
  h.is_64_bit = e->e_ident[EI_CLASS] == ELFCLASS64;
  h.arch = arch::cpu_of_elf(e->e_machine);
  // x32 and ILP32: 64-bit registers, 32-bit pointers.
  if (arch::cpu(h.arch).registers.pointer_size == 8 && !h.is_64_bit) h.arch = Arch::unknown;
  h.type = e->e_type;
  h.machine = e->e_machine;
  h.entry = e->e_entry;
  if (e->e_phentsize == sizeof(typename C::Phdr)) h.segment_table = e->e_phoff;
  if (e->e_shentsize == sizeof(typename C::Shdr)) h.section_table = e->e_shoff;
  h.segment_count = e->e_phnum;
  h.section_count = e->e_shnum;
  h.section_names = e->e_shstrndx;
  resolve_extended_counts<C>(file, *e, h);
  return h;
}

template <class C>
std::vector<Segment> parse_segments_of(FileView file, const ElfHeader& header, std::uint64_t file_size) {
  using Phdr = typename C::Phdr;
  std::vector<Segment> out;
  if (header.segment_table == 0 || header.segment_count == 0 || header.segment_count > kMaxSegments) return out;
  const auto table = file.range(header.segment_table, std::uint64_t{header.segment_count} * sizeof(Phdr));
  for (std::uint64_t i = 0; i < table.size() / sizeof(Phdr); i++) {
    const auto p = *base::load_at<Phdr>(table, i * sizeof(Phdr));
    Segment s{p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz};
    s.file_size = s.offset > file_size ? 0 : std::min(s.file_size, file_size - s.offset);
    if (s.type == PT_LOAD) s.file_size = std::min(s.file_size, s.memory_size);
    if (s.vaddr + s.memory_size < s.vaddr) continue;
    out.push_back(s);
  }
  return out;
}

std::string_view name_at(std::span<const std::byte> names, std::uint64_t offset) {
  if (offset >= names.size()) return {};
  const auto rest = names.subspan(static_cast<std::size_t>(offset));
  return base::ByteCursor(rest.first(std::min(rest.size(), kMaxSectionName))).cstring();
}

template <class C>
std::vector<Section> parse_sections_of(FileView file, const ElfHeader& header) {
  using Shdr = typename C::Shdr;
  std::vector<Section> out;
  if (header.section_table == 0 || header.section_count == 0 || header.section_count > kMaxSections) return out;
  const auto table = file.range(header.section_table, std::uint64_t{header.section_count} * sizeof(Shdr));
  if (table.empty()) return out;
  std::span<const std::byte> names;
  if (const auto s = base::load_at<Shdr>(table, std::uint64_t{header.section_names} * sizeof(Shdr));
      s && s->sh_type == SHT_STRTAB)
    names = file.range(s->sh_offset, s->sh_size);
  out.reserve(header.section_count);
  for (std::uint64_t i = 0; i < header.section_count; i++) {
    const auto s = *base::load_at<Shdr>(table, i * sizeof(Shdr));
    out.push_back({name_at(names, s.sh_name),
                   s.sh_type,
                   s.sh_flags,
                   s.sh_addr,
                   s.sh_offset,
                   s.sh_size,
                   s.sh_entsize,
                   s.sh_link,
                   s.sh_info,
                   {}});
  }
  return out;
}

std::uint64_t align_up(std::uint64_t n, std::uint64_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

}  // namespace

Result<ElfHeader> parse_elf_header(FileView file) {
  const auto ident = file.range(0, EI_NIDENT);
  if (ident.empty()) return fail(ErrorCode::truncated, EI_NIDENT);
  if (std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return fail(ErrorCode::malformed);
  const auto at = [&](int i) { return std::to_integer<unsigned>(ident[static_cast<std::size_t>(i)]); };
  if (at(EI_DATA) != ELFDATA2LSB) return fail(ErrorCode::unsupported, at(EI_DATA));
  if (at(EI_CLASS) == ELFCLASS64) return parse_header_of<Class64>(file);
  if (at(EI_CLASS) == ELFCLASS32) return parse_header_of<Class32>(file);
  return fail(ErrorCode::unsupported, at(EI_CLASS));
}

std::vector<Segment> parse_segments(FileView file, const ElfHeader& header, std::uint64_t file_size) {
  return header.is_64_bit ? parse_segments_of<Class64>(file, header, file_size)
                          : parse_segments_of<Class32>(file, header, file_size);
}

std::vector<Section> parse_sections(FileView file, const ElfHeader& header) {
  return header.is_64_bit ? parse_sections_of<Class64>(file, header) : parse_sections_of<Class32>(file, header);
}

BuildId find_build_id(std::span<const std::byte> notes) {
  base::ByteCursor cursor(notes);
  for (std::uint64_t step = 0; step < kMaxNoteSteps && cursor.remaining() >= sizeof(Elf64_Nhdr); step++) {
    const auto note = cursor.read<Elf64_Nhdr>();
    const auto name = cursor.bytes(note.n_namesz);
    cursor.skip(align_up(cursor.position(), 4) - cursor.position());
    const auto value = cursor.bytes(note.n_descsz);
    if (!cursor.ok()) break;
    if (note.n_type == NT_GNU_BUILD_ID && name.size() == 4 && std::memcmp(name.data(), "GNU", 4) == 0) {
      BuildId id;
      id.size = static_cast<std::uint8_t>(std::min(value.size(), id.bytes.size()));
      std::memcpy(id.bytes.data(), value.data(), id.size);
      return id;
    }
    cursor.skip(std::min<std::uint64_t>(align_up(cursor.position(), 4) - cursor.position(), cursor.remaining()));
  }
  return {};
}

std::optional<ElfSymbol> symbol_at(std::span<const std::byte> table, std::uint64_t index, bool is_64_bit) {
  if (index > table.size() / symbol_entry_size(is_64_bit)) return std::nullopt;
  if (is_64_bit) {
    const auto s = base::load_at<Elf64_Sym>(table, index * sizeof(Elf64_Sym));
    if (!s) return std::nullopt;
    return ElfSymbol{s->st_name, s->st_info, s->st_other, s->st_shndx, s->st_value, s->st_size};
  }
  const auto s = base::load_at<Elf32_Sym>(table, index * sizeof(Elf32_Sym));
  if (!s) return std::nullopt;
  return ElfSymbol{s->st_name, s->st_info, s->st_other, s->st_shndx, s->st_value, s->st_size};
}

}  // namespace mixstack::images
