// The headers of an ELF file, of either class, as checked plain values.
#pragma once

#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// ELF header (gABI chapter 4) with the extended counts of section header 0 resolved.
struct ElfHeader {
  bool is_64_bit = true;
  Arch arch = Arch::unknown;
  std::uint16_t type = 0, machine = 0;
  std::uint64_t entry = 0;
  std::uint64_t segment_table = 0, section_table = 0;  ///< file offsets, 0: none
  std::uint32_t segment_count = 0, section_count = 0, section_names = 0;
};

/// A symbol table entry, of either class.
struct ElfSymbol {
  std::uint32_t name = 0;
  std::uint8_t info = 0, other = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0, size = 0;
};

/// Bytes at a file offset, wherever they come from.
using FileView = const FileBytes&;

/// Fails with `malformed` (no ELF), `unsupported` (big-endian, unknown class) or `truncated`.
[[nodiscard]] Result<ElfHeader> parse_elf_header(FileView file);
/// Segments whose file part lies in a file of `file_size` bytes; one that does not is kept, its `file_size` cut.
[[nodiscard]] std::vector<Segment> parse_segments(FileView file, const ElfHeader& header, std::uint64_t file_size);
/// Section headers without bytes; empty when the table is damaged. Names point into the file's bytes.
[[nodiscard]] std::vector<Section> parse_sections(FileView file, const ElfHeader& header);
/// The GNU build id of a run of notes, empty when there is none. Notes are padded to 4 bytes in both classes, whatever
/// the gABI says of 64 bits; GNU property notes are padded to 8 and their sizes are multiples of 8, so they read alike.
[[nodiscard]] BuildId find_build_id(std::span<const std::byte> notes);

/// Size of a symbol table entry: Elf32_Sym, Elf64_Sym.
[[nodiscard]] constexpr std::size_t symbol_entry_size(bool is_64_bit) { return is_64_bit ? 24 : 16; }
/// Entry `index` of a table, nothing beyond its end.
[[nodiscard]] std::optional<ElfSymbol> symbol_at(std::span<const std::byte> table, std::uint64_t index, bool is_64_bit);

}  // namespace mixstack::images
