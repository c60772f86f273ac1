// From an address to the pieces of code that may lie there.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstack/address.h"
#include "self_walk/zeroed_pages.h"

namespace mixstack::agent {

/// Holds numbers. A granule of 1 KiB of code has a block of half a cache line: seven numbers with the part of the
/// granule that each covers, so that a look-up touches one line here and one of the piece that is there, and decides
/// without a branch for each number. `visit` may run in signal handlers of any thread while a writer, one at a time,
/// changes the index: it sees each number or does not.
class CodeIndex {
 public:
  static constexpr unsigned kNumberBits = 20;

  struct Options {
    std::size_t most_regions;  ///< of 2 MiB in which code lies; a power of two, twice as many as are used
    std::size_t most_more;     ///< blocks of granules that have more than seven pieces
  };
  explicit CodeIndex(const Options& options);
  [[nodiscard]] bool is_usable() const;

  /// Calls `is_it` with each number whose range may hold the address, until it says yes. Signal-safe.
  template <class IsIt>
  bool visit(Address address, const IsIt& is_it) const;

  // The writer's.
  /// Whether `add` will find room; regions are made.
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
  /// A granule cannot have more: a piece is a byte at least.
  static constexpr std::size_t kMostBlocks = (std::size_t{1} << kGranuleBits) / kEntries + 1;

  /// Entry i is half i / 4 of word i % 4, so that all fit side by side when they are compared; the last one is not an
  /// entry but the number of the block with more of them, 0: none. An entry is a number and two fields of six bits, the
  /// last unit covered and 32 - the first: 0 covers nothing, and is free. The highest bit of a field stays for a carry.
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
  /// Bit 28 + i % 4 + i / 4 * 32: entry i covers the address. Adding to both fields of all entries at once carries into
  /// the highest bit of a field where first <= unit, and where unit <= last.
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
  // There is always a free slot.
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
