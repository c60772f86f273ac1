// The arenas of glibc's malloc, from outside: which bytes are in use, and which were freed and kept.
#pragma once

#include <span>
#include <vector>

#include "mixstack/memory.h"
#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::memory_use {

struct MallocRange {
  AddressRange range;
  MemoryKind kind = MemoryKind::malloc_used;
};

struct MallocUse {
  std::vector<MallocArena> arenas;  ///< the main one first
  std::vector<MallocRange> ranges;  ///< equal neighbours of one arena are one
};

/// The library that malloc is of, by the files that are mapped: "glibc", "musl", "jemalloc", ...; empty: not known.
/// A program may have others linked into it.
[[nodiscard]] std::string allocator_of(std::span<const Region> mappings);

/// Reads while the process runs: an arena that does not end at its top chunk is read again, and told as not whole.
/// Nothing has a symbol: main_arena is known by its bins, which point at themselves (glibc 2.26 to 2.41). Chunks that a
/// thread keeps for itself (tcache, fast bins) count as used. Everything is bounded. Empty: no such arena was found.
/// `page_bytes` are the target's.
[[nodiscard]] MallocUse malloc_use(const MemoryReader& memory, std::span<const Region> mappings,
                                   std::uint64_t page_bytes);

}  // namespace mixstack::memory_use
