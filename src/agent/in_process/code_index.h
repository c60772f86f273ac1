// Finds the pieces of code that may lie at an address.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/self_walk/zeroed_pages.h"
#include "mixstack/address.h"

namespace mixstack::agent {

/// Maps addresses to numbers of pieces. A granule of 1 KiB of code has a block of half a cache line: seven numbers,
/// each with the part of the granule that it covers. So a look-up touches one cache line here and one of the piece,
/// without a branch for each number. `visit` may run in signal handlers of any thread while one writer changes the
/// index: it sees each change wholly or not at all.
class CodeIndex {
 public:
  static constexpr unsigned kNumberBits = 20;

  struct Options {
    std::size_t most_regions;  ///< slots for regions of 2 MiB; a power of two, of which half may be used
    std::size_t most_more;     ///< further blocks, for granules with more than seven pieces
  };
  explicit CodeIndex(const Options& options);
  [[nodiscard]] bool is_usable() const;

  /// Calls `is_it` with each number whose range may hold the address, until it returns true. Signal-safe.
  template <class IsIt>
  bool visit(Address address, const IsIt& is_it) const;

  // For the writer only.
  /// Makes the regions; returns whether `add` will find room.
  [[nodiscard]] bool make_room(AddressRange range);
  /// `number` is not 0; `range` is not empty and has room.
  void add(AddressRange range, std::uint32_t number);
  void remove(AddressRange range, std::uint32_t number);
  /// All numbers in the granules of a range, some more than once.
  [[nodiscard]] std::vector<std::uint32_t> numbers_around(AddressRange range) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr unsigned kGranuleBits = 10, kRegionBits = 21;
  static constexpr unsigned kUnitBits = 5, kUnitShift = kGranuleBits - kUnitBits;
  static constexpr std::uint32_t kLastUnit = (1u << kUnitBits) - 1;
  static constexpr std::size_t kGranules = std::size_t{1} << (kRegionBits - kGranuleBits);
  static constexpr std::size_t kEntries = 7;
  /// A granule cannot have more, since a piece has at least one byte.
  static constexpr std::size_t kMostBlocks = (std::size_t{1} << kGranuleBits) / kEntries + 1;

  /// Entry i is half i / 4 of word i % 4, so that all entries are compared side by side. The last half is not an entry
  /// but the number of the next block, 0: none. An entry is a number and two fields of six bits, the last unit covered
  /// and 32 - the first: 0 covers nothing, and is free. The highest bit of a field is reserved for the carry.
  struct alignas(32) Block {
    std::array<std::atomic<std::uint64_t>, 4> words;
  };
  static_assert(sizeof(Block) == 32);
  struct Region {
    std::atomic<std::uint64_t> number;  ///< address >> kRegionBits, 0: free
    std::atomic<Block*> blocks;         ///< of its granules
  };

  static constexpr unsigned kFieldBits = kUnitBits + 1, kFirstShift = kNumberBits + kFieldBits;
  static_assert(kFirstShift + kFieldBits == 32);
  [[nodiscard]] static std::uint32_t number_of(std::uint32_t entry) { return entry & ((1u << kNumberBits) - 1); }
  [[nodiscard]] static std::uint32_t entry_of(const Block& block, std::size_t i) {
    return static_cast<std::uint32_t>(block.words[i % 4].load(std::memory_order_relaxed) >> (i / 4 * 32));
  }
  static void set_entry(Block& block, std::size_t i, std::uint32_t entry);
  [[nodiscard]] static Address granule_after(Address address) {
    return (address | ((Address{1} << kGranuleBits) - 1)) + 1;
  }
  /// Bit 28 + i % 4 + i / 4 * 32: entry i covers the address. One addition to both fields of all entries carries into
  /// the highest bit of one field if first <= unit, and of the other if unit <= last.
  [[nodiscard]] static std::uint64_t hits_of(const Block& block, Address address) {
    const std::uint64_t unit = address >> kUnitShift & kLastUnit;
    const std::uint64_t addend = (unit << kFirstShift | (kLastUnit + 1 - unit) << kNumberBits) * ((1ull << 32) + 1);
    std::uint64_t hits = 0;
    const auto compare = [&](std::size_t i) {
      const std::uint64_t carried = block.words[i].load(std::memory_order_relaxed) + addend;
      hits |= (carried & carried << kFieldBits & kCarries) >> (3 - i);
    };
    compare(0), compare(1), compare(2), compare(3);
    return hits & ~(1ull << 63);
  }
  static constexpr std::uint64_t kCarries = (1ull << 63) | (1ull << 31);
  [[nodiscard]] Block* first_block(Address address) const;
  [[nodiscard]] Block* make_block(Address address);
  [[nodiscard]] Block* next_block(const Block& block) const {
    const std::uint32_t more = entry_of(block, kEntries);
    return more == 0 ? nullptr : &more_[more];
  }
  [[nodiscard]] static std::uint32_t entry_for(AddressRange range, Address at, std::uint32_t number);
  [[nodiscard]] bool has_free_entry(const Block* block) const;
  void add_entry(Block& first, std::uint32_t entry);
  void remove_number(Block& first, std::uint32_t number);
  [[nodiscard]] std::uint32_t take_more();

  [[nodiscard]] std::size_t slot_of(std::uint64_t region) const {
    return static_cast<std::size_t>((region * 0x9e3779b97f4a7c15ull) >> 32) & region_mask_;
  }

  Options options_;
  std::size_t region_mask_;
  self_walk::ZeroedPages region_room_, block_room_, more_room_;
  Region* regions_;
  Block* blocks_;
  Block* more_;
  std::uint32_t used_regions_ = 0, next_more_ = 1;
  std::vector<std::uint32_t> free_more_;
  std::size_t bytes_ = 0;
};

inline CodeIndex::Block* CodeIndex::first_block(Address address) const {
  const std::uint64_t number = address >> kRegionBits;
  // Terminates: there is always a free slot (make_block).
  for (std::size_t i = slot_of(number);; i = (i + 1) & region_mask_) {
    const Region& region = regions_[i];
    const std::uint64_t found = region.number.load(std::memory_order_acquire);
    if (found == number)
      return region.blocks.load(std::memory_order_relaxed) + ((address >> kGranuleBits) & (kGranules - 1));
    if (found == 0) return nullptr;
  }
}

template <class IsIt>
bool CodeIndex::visit(Address address, const IsIt& is_it) const {
  if (address >> kRegionBits == 0) return false;
  const Block* block = first_block(address);
  for (std::size_t n = 0; block != nullptr && n < kMostBlocks; n++, block = next_block(*block)) {
    std::uint64_t hits = hits_of(*block, address);
    std::atomic_thread_fence(std::memory_order_acquire);
    for (; hits != 0; hits &= hits - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(hits));
      if (is_it(number_of(entry_of(*block, (bit & 3) + bit / 32 * 4)))) return true;
    }
  }
  return false;
}

}  // namespace mixstack::agent
