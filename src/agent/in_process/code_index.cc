#include "agent/in_process/code_index.h"

#include <algorithm>

namespace mixstack::agent {
namespace {

using Presence = self_walk::ZeroedPages::Presence;

}  // namespace

CodeIndex::CodeIndex(const Options& options)
    : options_(options),
      region_mask_(options.most_regions - 1),
      region_room_(options.most_regions * sizeof(Region), Presence::lazy),
      block_room_(options.most_regions / 2 * kGranules * sizeof(Block), Presence::lazy),
      more_room_((options.most_more + 1) * sizeof(Block), Presence::lazy),
      regions_(static_cast<Region*>(region_room_.get())),
      blocks_(static_cast<Block*>(block_room_.get())),
      more_(static_cast<Block*>(more_room_.get())) {}

bool CodeIndex::is_usable() const {
  return regions_ != nullptr && blocks_ != nullptr && more_ != nullptr && std::has_single_bit(options_.most_regions);
}

CodeIndex::Block* CodeIndex::make_block(Address address) {
  if (Block* block = first_block(address)) return block;
  // Half full at most: probes stay short, and there is always a free slot that ends one.
  if (used_regions_ == options_.most_regions / 2) return nullptr;
  const std::uint64_t number = address >> kRegionBits;
  std::size_t i = slot_of(number);
  while (regions_[i].number.load(std::memory_order_relaxed) != 0) i = (i + 1) & region_mask_;
  regions_[i].blocks.store(blocks_ + used_regions_++ * kGranules, std::memory_order_relaxed);
  regions_[i].number.store(number, std::memory_order_release);
  bytes_ += sizeof(Region) + kGranules * sizeof(Block);
  return first_block(address);
}

bool CodeIndex::has_free_entry(const Block* block) const {
  for (; block != nullptr; block = next_block(*block))
    for (std::size_t i = 0; i < kEntries; i++)
      if (entry_of(*block, i) == 0) return true;
  return false;
}

bool CodeIndex::make_room(AddressRange range) {
  std::size_t needed = 0;
  for (Address at = range.begin; at < range.end; at = granule_after(at)) {
    const Block* block = make_block(at);
    if (block == nullptr) return false;
    if (!has_free_entry(block)) needed++;
  }
  return needed <= free_more_.size() + (options_.most_more + 1 - next_more_);
}

/// Keeps the other half of the word. No atomic read-modify-write is needed, since there is one writer.
void CodeIndex::set_entry(Block& block, std::size_t i, std::uint32_t entry) {
  std::atomic<std::uint64_t>& word = block.words[i % 4];
  const auto shift = static_cast<unsigned>(i / 4 * 32);
  const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(std::uint64_t{UINT32_MAX} << shift);
  word.store(others | std::uint64_t{entry} << shift, std::memory_order_release);
}

std::uint32_t CodeIndex::entry_for(AddressRange range, Address at, std::uint32_t number) {
  const Address granule = at >> kGranuleBits << kGranuleBits;
  const Address first = std::max(range.begin, granule) - granule;
  const Address last = std::min(range.end, granule + (Address{1} << kGranuleBits)) - 1 - granule;
  return number | static_cast<std::uint32_t>(last >> kUnitShift) << kNumberBits |
         (kLastUnit + 1 - static_cast<std::uint32_t>(first >> kUnitShift)) << kFirstShift;
}

std::uint32_t CodeIndex::take_more() {
  if (free_more_.empty()) {
    bytes_ += sizeof(Block);
    return next_more_++;
  }
  const std::uint32_t more = free_more_.back();
  free_more_.pop_back();
  set_entry(more_[more], kEntries, 0);
  return more;
}

void CodeIndex::add_entry(Block& first, std::uint32_t entry) {
  Block* last = &first;
  for (Block* block = &first; block != nullptr; block = next_block(*block)) {
    for (std::size_t i = 0; i < kEntries; i++)
      if (entry_of(*block, i) == 0) return set_entry(*block, i, entry);
    last = block;
  }
  const std::uint32_t more = take_more();
  set_entry(more_[more], 0, entry);
  set_entry(*last, kEntries, more);
}

/// A block without entries leaves its chain, but keeps its link, so that a reader that is in it still finds the rest.
/// If the block was reused meanwhile, the reader notices by the map's generation (JitMap::look_up).
void CodeIndex::remove_number(Block& first, std::uint32_t number) {
  Block* before = nullptr;
  for (Block* block = &first; block != nullptr; before = block, block = next_block(*block)) {
    std::size_t used = 0;
    bool is_here = false;
    for (std::size_t i = 0; i < kEntries; i++) {
      const std::uint32_t entry = entry_of(*block, i);
      if (entry != 0 && number_of(entry) == number) {
        set_entry(*block, i, 0);
        is_here = true;
      } else {
        used += entry != 0 ? 1 : 0;
      }
    }
    if (!is_here) continue;
    if (used == 0 && before != nullptr) {
      const std::uint32_t self = entry_of(*before, kEntries);
      set_entry(*before, kEntries, entry_of(*block, kEntries));
      free_more_.push_back(self);
    }
    return;
  }
}

void CodeIndex::add(AddressRange range, std::uint32_t number) {
  for (Address at = range.begin; at < range.end; at = granule_after(at))
    if (Block* first = first_block(at)) add_entry(*first, entry_for(range, at, number));
}

void CodeIndex::remove(AddressRange range, std::uint32_t number) {
  for (Address at = range.begin; at < range.end; at = granule_after(at))
    if (Block* first = first_block(at)) remove_number(*first, number);
}

std::vector<std::uint32_t> CodeIndex::numbers_around(AddressRange range) const {
  std::vector<std::uint32_t> numbers;
  for (Address at = range.begin; at < range.end; at = granule_after(at))
    for (const Block* block = first_block(at); block != nullptr; block = next_block(*block))
      for (std::size_t i = 0; i < kEntries; i++)
        if (const std::uint32_t entry = entry_of(*block, i); entry != 0) numbers.push_back(number_of(entry));
  return numbers;
}

}  // namespace mixstack::agent
