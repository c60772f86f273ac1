// The dynamic linker's tables of an image, found through PT_DYNAMIC, so they are there without section headers.
#pragma once

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// The dynamic section's tables. Addresses are link-time; spans are empty where absent or not held.
struct DynamicTables {
  std::span<const std::byte> symbols;  ///< whole entries, as many as the section or hash tables count
  std::span<const std::byte> strings;
  std::uint64_t symbols_address = 0;
  std::uint64_t gnu_hash = 0, sysv_hash = 0;
  std::uint64_t plt_got = 0;
  std::uint64_t plt_relocations = 0, plt_relocations_size = 0;  ///< DT_JMPREL, DT_PLTRELSZ
  bool plt_relocations_have_addend = true;                      ///< DT_PLTREL == DT_RELA
};

/// Reads PT_DYNAMIC; an image without one gives empty tables. Symbols and strings only if `with_symbols`: reading them
/// is most of the cost.
[[nodiscard]] DynamicTables read_dynamic(const ElfImage& image, bool with_symbols = true);
/// The value of the symbol `name` through .gnu.hash, else by a scan; only defined symbols.
[[nodiscard]] std::optional<std::uint64_t> find_dynamic_symbol(const ElfImage& image, const DynamicTables& tables,
                                                               std::string_view name);

}  // namespace mixstack::images
