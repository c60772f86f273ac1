// Arguments of calls through the imports of precompiled images while the runtime still looks for the callee: the words
// of the saved block that are references (GCRefMap).
#pragma once

#include <vector>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// Address of the map of calls through the slot at `slot`. `import_sections`: the image's table of slots. `not_found`:
/// the image has no such slot, or one without a map. Source: docs/design/coreclr/botr/readytorun-format.md,
/// READYTORUN_IMPORT_SECTION; FindGCRefMap in src/coreclr/vm/frames.cpp.
[[nodiscard]] Result<Address> find_gc_ref_map(const MemoryReader& memory, Address image_base,
                                              const AddressRange& import_sections, Address slot);

/// A word that is a reference.
struct GcRefMapEntry {
  std::uint32_t position = 0;  ///< in words, from the first one that a map can name
  bool is_interior = false;
  friend bool operator==(const GcRefMapEntry&, const GcRefMapEntry&) = default;
};

inline constexpr std::uint32_t kMostGcRefMapWords = 1 << 16;

/// Decodes a map of a 64-bit CPU. `truncated`, `limit_exceeded`.
/// Source: src/coreclr/inc/gcrefmap.h.
[[nodiscard]] Result<std::vector<GcRefMapEntry>> decode_gc_ref_map(std::span<const std::byte> bytes);
/// The same of the one at `map`. Errors of reading, too.
[[nodiscard]] Result<std::vector<GcRefMapEntry>> read_gc_ref_map(const MemoryReader& memory, Address map);

}  // namespace mixstack::dotnet
