// Recognises the kind of image at an address by its first bytes in memory.
#pragma once

#include <vector>

#include "engine/images/elf_headers.h"

namespace mixstack::images {

enum class ModuleKind : std::uint8_t {
  elf,
  pe,     ///< a ReadyToRun or other PE image mapped from a file
  other,  ///< executable mappings of a file that is neither, or whose header is not mapped
};

/// The headers of an image as they lie in memory.
struct ImageHead {
  ModuleKind kind = ModuleKind::other;
  std::uint64_t load_bias = 0;    ///< address minus link-time address; PE: the base, so that the difference is the RVA
  std::vector<Segment> segments;  ///< PE: headers and sections in the shape of PT_LOAD segments
  std::vector<std::byte> bytes;   ///< ELF: header and program headers, to compare with a file
};

/// Reads at most some KiB at `base`. `not_found` when no image starts there.
[[nodiscard]] Result<ImageHead> probe_image(const MemoryReader& memory, Address base);
/// The build id in the notes of a loaded ELF image; empty when it has none or they cannot be read.
[[nodiscard]] BuildId read_build_id(const MemoryReader& memory, const ImageHead& head);

}  // namespace mixstack::images
