// The metadata of a module that was edited while it runs (Hot Reload): the runtime's own tables in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::names {

struct EditedMetadata {
  static constexpr unsigned kMaxPieces = 4096;  ///< of one table or heap

  /// The tables and heaps of a PEAssembly's metadata as one blob that `Metadata::open` reads, without user strings.
  /// `bulk` reads what is large; at most `budget` bytes are copied.
  /// Errors: `not_found` (its metadata is only the file's), `field_unavailable`, `limit_exceeded`, `malformed` (a table
  /// is not as long as its rows), those of reading.
  [[nodiscard]] static Result<std::vector<std::byte>> read(const RuntimeMemory& memory, const MemoryReader& bulk,
                                                           Address pe_assembly, std::uint64_t budget);
};

}  // namespace mixstack::dotnet::names
