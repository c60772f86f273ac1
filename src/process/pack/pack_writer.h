// Writes the members of a pack.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mixstack/memory_reader.h"
#include "process/pack/blanker.h"
#include "process/pack/copying_target.h"
#include "process/pack/core_layout.h"
#include "process/pack/pack_stream.h"

namespace mixstack::pack {

struct WrittenPack {
  std::uint64_t core_bytes = 0, file_bytes = 0;
  std::size_t files = 0;
  std::uint64_t bytes_gone = 0;        ///< bytes of the core that could not be read any more: zeros
  std::vector<std::string> not_whole;  ///< files that shrank meanwhile, or whose path has no place in a pack
};

/// Manifest, core, files. Pieces without bytes are read from `memory`. All but public ones are blanked by `blanker`,
/// neighbours as one. Files larger than 2
/// GiB, and files beyond 4 GiB in all, are left out and named in `not_whole`. Errors are the stream's.
[[nodiscard]] WrittenPack write_members(PackStream& out, const std::string& manifest, const CoreLayout& core,
                                        const MemoryReader& memory, const Blanker& blanker,
                                        std::span<const PackedProcess::File> files);

}  // namespace mixstack::pack
