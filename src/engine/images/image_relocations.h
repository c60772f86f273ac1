// The words of an image that a loader changes: applied to bytes that come from the file instead.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/images/elf_image.h"
#include "engine/images/pe_image.h"

namespace mixstack::images {

/// A pointer-sized word that the loader writes.
struct Relocation {
  std::uint64_t address = 0;  ///< link-time address (PE: RVA)
  std::uint64_t value = 0;    ///< the word after loading, minus the load bias; unused when not `known`
  bool known = true;          ///< false: it depends on other images or on the CPU
};

/// Ascending by address, one per address. `RELATIVE` relocations of DT_RELA and DT_RELR are known, all others are not.
/// Reading stops at `kMaxRelocations`, and a damaged table ends where the damage begins.
[[nodiscard]] std::vector<Relocation> read_relocations(const ElfImage& image);
/// The base relocations of a PE image over its file's bytes; values are those for the preferred base, made relative.
[[nodiscard]] std::vector<Relocation> read_relocations(const PeImage& image);

inline constexpr std::size_t kMaxRelocations = 4'000'000;

/// Writes the loader's words into `bytes`, which were read from the file for `address` (link-time). Words that are not
/// known become zero: no pointer is better than a wrong one. Words cut by the ends are handled bytewise.
void apply_relocations(const std::vector<Relocation>& relocations, std::uint64_t load_bias, std::uint64_t address,
                       std::span<std::byte> bytes);

}  // namespace mixstack::images
