// A page cache over slow memory.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/memory/process_memory.h"
#include "base/memory/witnessed_memory.h"
#include "mixstack/memory_reader.h"

namespace mixstack::memory {

struct CacheOptions {
  std::size_t page_size = 4096;      ///< a power of two, at most the target's page size
  std::size_t max_pages = 4096;      ///< 16 MiB; the oldest page makes room for a new one
  std::size_t read_ahead_pages = 4;  ///< a miss reads so many pages at once: 16 KiB cost 1.4 times 4 KiB; more, if it
                                     ///< follows the last one
};

/// Keeps pages of another reader, whose pages must be readable from their first byte on or not at all, as those of a
/// process are. Unreadable pages are remembered, too. Cached bytes are as old as the last `clear()`: the owner clears
/// the cache when the target may have changed (a new capture), and `generation()` tells others. Not thread-safe, reads
/// included: one cache per walking thread. Borrows the reader below.
class CachedMemory final : public MemoryReader {
 public:
  /// If the memory below can be read in many places at once, the first miss after a `clear()` reads the pages used
  /// before it again with one call: a capture usually reads what the last one read.
  explicit CachedMemory(const MemoryReader& below, const CacheOptions& options = {});

  /// Reads larger than a quarter of the cache bypass it, as do all reads of memory that has no whole pages.
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  [[nodiscard]] bool has_whole_pages() const override { return has_whole_pages_; }

  /// Reads the pages of these ranges with one call, and nothing around them, if the memory below can be read in many
  /// places at once; as many as there is room for. Pages that fail this way are read when they are asked for.
  void fetch(std::span<const AddressRange> ranges);
  /// The same, but delayed until the first miss from now on.
  void fetch_when_missed(std::span<const AddressRange> ranges);

  /// Forgets everything; keeps the allocation.
  void clear();
  /// Counts calls of `clear()`: facts derived from the cache are stale when it differs.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] std::size_t cached_pages() const { return used_; }

 private:
  struct Page {
    Address address = 0;
    std::size_t valid = 0;       // bytes from its start that could be read
    bool is_used = false;        // not only read ahead
    std::byte* bytes = nullptr;  // in a slab
  };
  /// The page at a page-aligned address, read with some of its successors when it is missing.
  [[nodiscard]] const Page& page(Address aligned) const;
  void load(Address aligned, std::size_t count) const;
  [[nodiscard]] std::size_t ahead(Address aligned) const;
  [[nodiscard]] Page& slot_for(Address aligned) const;
  void add_page() const;
  [[nodiscard]] std::span<std::byte> free_run(std::size_t most) const;
  [[nodiscard]] std::size_t read_pages(Address aligned, std::span<std::byte> out) const;
  void load_scattered(std::span<const Address> addresses) const;
  [[nodiscard]] std::vector<Address> pages_of(std::span<const AddressRange> ranges) const;
  [[nodiscard]] Result<std::size_t> read_through(Address address, std::span<std::byte> out) const;

  const WitnessedMemory* witness_ = nullptr;
  const MemoryReader& below_;
  const BulkMemory* bulk_ = nullptr;
  bool has_whole_pages_ = true;
  CacheOptions options_;
  std::uint64_t generation_ = 0;
  mutable std::unordered_map<Address, std::uint32_t> index_;
  mutable std::vector<Page> pages_;
  mutable std::vector<std::unique_ptr<std::byte[]>> slabs_;
  mutable std::size_t slab_pages_ = 0;     // of the last one
  mutable std::size_t taken_of_slab_ = 0;  // of these
  mutable std::size_t used_ = 0;           // pages_ beyond this are spare
  mutable std::size_t next_victim_ = 0;
  mutable const Page* latest_ = nullptr;   // most reads hit the page of the read before
  mutable std::vector<Address> again_;     // pages to be read with the next miss
  mutable Address read_until_ = 0;         // by the last miss
  mutable std::size_t ahead_ = 1;          // pages that it read
  mutable std::vector<std::byte> buffer_;  // where pages must make room first
};

}  // namespace mixstack::memory
