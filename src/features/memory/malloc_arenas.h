// The arenas of glibc's malloc, from outside: which bytes are in use, and which were freed and kept.
#pragma once

#include <algorithm>
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

/// Blocks that malloc has made mappings of their own for, anywhere in a mapping: the kernel makes one of neighbours. A
/// block begins at a page with the words 0 and its size, marked as mapped. At most kMostPages are looked at, in all.
class LargeBlocks {
 public:
  static constexpr std::size_t kMostPages = 1 << 17;
  static constexpr std::uint64_t kLeastBytes = 128 << 10;  ///< malloc's own threshold, where nobody has lowered it

  LargeBlocks(const MemoryReader& memory, std::uint64_t page_bytes) : memory_(memory), page_bytes_(page_bytes) {}
  [[nodiscard]] static bool may_be_in(const Region& r) {
    return r.path.empty() && r.readable && r.writable && !r.shared && r.range.size() >= kLeastBytes;
  }
  /// Those that begin in `part` of a mapping, which is asked for in the order of addresses.
  template <class Use>
  void find(const Region& mapping, AddressRange part, Use&& use) {
    for (Address at = std::max(part.begin, next_); at < part.end && pages_ < kMostPages; pages_++) {
      const std::uint64_t size = size_at(at, mapping.range.end);
      if (size != 0) use(AddressRange{at, at + size});
      at += size != 0 ? size : page_bytes_;
      next_ = at;
    }
  }

 private:
  /// 0: no block begins here.
  [[nodiscard]] std::uint64_t size_at(Address at, Address end) const;

  const MemoryReader& memory_;
  std::uint64_t page_bytes_;
  std::size_t pages_ = 0;
  Address next_ = 0;  ///< behind the last block
};

}  // namespace mixstack::memory_use
