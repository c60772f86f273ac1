#include "base/memory/cached_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/system/own_pages.h"

namespace mixstack::memory {
namespace {

constexpr std::size_t kNear = 2;             // pages between reads that follow each other
constexpr std::size_t kMostAhead = 64;       // pages
constexpr std::size_t kMostAgain = 1 << 20;  // bytes of used pages; more are not one capture's

constexpr Address kNowhere = 1;                                         // where no page is
constexpr std::size_t kFirstSlab = 32 << 10, kLargestSlab = 256 << 10;  // bytes

[[nodiscard]] CacheOptions checked(CacheOptions o) {
  o.page_size = std::bit_ceil(std::clamp<std::size_t>(o.page_size, 64, 1 << 20));
  o.max_pages = std::clamp<std::size_t>(o.max_pages, 8, 1 << 24);
  o.read_ahead_pages = std::clamp<std::size_t>(o.read_ahead_pages, 1, o.max_pages / 2);
  return o;
}

}  // namespace

CachedMemory::CachedMemory(const MemoryReader& below, const CacheOptions& options)
    : witness_(dynamic_cast<const WitnessedMemory*>(&below)),
      below_(witness_ != nullptr ? witness_->below() : below),
      bulk_(dynamic_cast<const BulkMemory*>(&below_)),
      has_whole_pages_(below.has_whole_pages()),
      options_(checked(options)),
      ahead_(options_.read_ahead_pages) {}

void CachedMemory::clear() {
  if (bulk_ != nullptr && used_ != 0) {
    again_.clear();
    const std::size_t most = kMostAgain / options_.page_size;
    for (std::size_t i = 0; i < used_ && again_.size() <= most; i++)
      if (pages_[i].is_used && pages_[i].valid == options_.page_size) again_.push_back(pages_[i].address);
    if (again_.size() > most) again_.clear();
  }
  index_.clear();
  used_ = 0;
  next_victim_ = 0;
  latest_ = nullptr;
  generation_++;
}

/// Takes pages from slabs, each twice as large as the last (kFirstSlab to kLargestSlab), and populates a slab at once:
/// page faults one by one cost as much as the bytes read.
void CachedMemory::add_page() const {
  if (taken_of_slab_ == slab_pages_) {
    slab_pages_ = std::clamp(2 * slab_pages_, kFirstSlab / options_.page_size, kLargestSlab / options_.page_size);
    slab_pages_ = std::max<std::size_t>(1, std::min(slab_pages_, options_.max_pages - pages_.size()));
    const std::size_t size = slab_pages_ * options_.page_size;
    slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    (void)base::populate(slabs_.back().get(), size);
    taken_of_slab_ = 0;
  }
  pages_.push_back({0, 0, false, slabs_.back().get() + taken_of_slab_++ * options_.page_size});
}

CachedMemory::Page& CachedMemory::slot_for(Address aligned) const {
  if (auto known = index_.find(aligned); known != index_.end()) return pages_[known->second];
  std::size_t slot = used_;
  if (used_ < options_.max_pages) {
    used_++;
    if (slot == pages_.size()) add_page();
  } else {
    slot = next_victim_;
    next_victim_ = (next_victim_ + 1) % used_;
    index_.erase(pages_[slot].address);
  }
  latest_ = nullptr;
  pages_[slot].address = aligned;
  pages_[slot].is_used = false;
  index_[aligned] = static_cast<std::uint32_t>(slot);
  return pages_[slot];
}

/// At most `most` spare pages that follow each other in memory, to be filled by one read. Empty: none are spare, and
/// older ones must make room.
std::span<std::byte> CachedMemory::free_run(std::size_t most) const {
  if (used_ == options_.max_pages) return {};
  std::size_t count = 0;
  while (count < most && used_ + count < options_.max_pages) {
    if (used_ + count == pages_.size()) {
      if (count != 0 && taken_of_slab_ == slab_pages_) break;
      add_page();
    }
    if (count != 0 && pages_[used_ + count].bytes != pages_[used_].bytes + count * options_.page_size) break;
    count++;
  }
  return {pages_[used_].bytes, count * options_.page_size};
}

/// Reads from the page on; once that page is whole, a short read ends the read-ahead.
std::size_t CachedMemory::read_pages(Address aligned, std::span<std::byte> out) const {
  std::size_t n = 0;
  while (n < out.size()) {
    auto got = below_.read_some(aligned + n, out.subspan(n));
    if (!got || *got == 0) break;
    n += *got;
    if (n < out.size() && n >= options_.page_size) return n - n % options_.page_size;
  }
  return n;
}

void CachedMemory::load(Address aligned, std::size_t count) const {
  const Address to_the_top = aligned == 0 ? count : (Address{0} - aligned) / options_.page_size;
  const auto most = static_cast<std::size_t>(std::min<Address>(count, to_the_top));
  std::size_t wanted = 1;
  while (wanted < most && !index_.contains(aligned + wanted * options_.page_size)) wanted++;
  std::span<std::byte> out = free_run(wanted);
  const bool is_in_place = !out.empty();
  if (!is_in_place) {
    buffer_.resize(std::max(buffer_.size(), wanted * options_.page_size));
    out = std::span(buffer_).first(wanted * options_.page_size);
  }
  const std::size_t n = read_pages(aligned, out);
  read_until_ = aligned + n;
  for (std::size_t at = 0; at == 0 || at < n; at += options_.page_size) {
    Page& p = slot_for(aligned + at);
    p.valid = std::min(options_.page_size, n - at);
    if (!is_in_place) std::memcpy(p.bytes, out.data() + at, p.valid);
  }
}

/// Pages that cannot be read whole this way are dropped, and read when they are asked for.
void CachedMemory::load_scattered(std::span<const Address> addresses) const {
  std::vector<RangeRead> reads;
  std::vector<std::uint32_t> slots;
  reads.reserve(addresses.size());
  slots.reserve(addresses.size());
  for (const Address a : addresses) {
    if (used_ == options_.max_pages) break;
    if (index_.contains(a)) continue;
    Page& page = slot_for(a);
    page.valid = 0;
    slots.push_back(index_[a]);
    reads.push_back({a, {page.bytes, options_.page_size}});
  }
  bulk_->read_ranges(reads);
  for (std::size_t i = 0; i < reads.size(); i++) {
    Page& page = pages_[slots[i]];
    page.valid = reads[i].done;
    if (page.valid == options_.page_size) continue;
    index_.erase(page.address);
    page.address = kNowhere;
  }
}

std::vector<Address> CachedMemory::pages_of(std::span<const AddressRange> ranges) const {
  std::vector<Address> pages;
  if (bulk_ == nullptr || !has_whole_pages_) return pages;
  for (const AddressRange& r : ranges)
    for (Address at = r.begin & ~Address{options_.page_size - 1}; at < r.end && pages.size() < options_.max_pages;
         at += options_.page_size)
      pages.push_back(at);
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

void CachedMemory::fetch(std::span<const AddressRange> ranges) {
  if (const auto pages = pages_of(ranges); !pages.empty()) load_scattered(pages);
}

void CachedMemory::fetch_when_missed(std::span<const AddressRange> ranges) { again_ = pages_of(ranges); }

/// A read that follows the last one counts as sequential: it reads twice as far ahead each time, up to kMostAhead.
std::size_t CachedMemory::ahead(Address aligned) const {
  const bool goes_on = aligned >= read_until_ && aligned - read_until_ <= kNear * options_.page_size;
  ahead_ = goes_on ? std::min(2 * ahead_, kMostAhead) : options_.read_ahead_pages;
  return std::min(ahead_, std::max(options_.read_ahead_pages, options_.max_pages / 4));
}

const CachedMemory::Page& CachedMemory::page(Address aligned) const {
  if (latest_ != nullptr && latest_->address == aligned) return *latest_;
  auto known = index_.find(aligned);
  if (known == index_.end() && !again_.empty()) {
    load_scattered(std::exchange(again_, {}));
    known = index_.find(aligned);
  }
  if (known == index_.end()) {
    load(aligned, ahead(aligned));
    known = index_.find(aligned);
  }
  pages_[known->second].is_used = true;
  latest_ = &pages_[known->second];
  return *latest_;
}

Result<std::size_t> CachedMemory::read_some(Address address, std::span<std::byte> out) const {
  auto n = read_through(address, out);
  if (witness_ != nullptr && n && *n != 0) [[unlikely]]
    witness_->was_read(address, out.first(*n));
  return n;
}

Result<std::size_t> CachedMemory::read_through(Address address, std::span<std::byte> out) const {
  if (!has_whole_pages_ || out.size() > options_.max_pages / 4 * options_.page_size)
    return below_.read_some(address, out);
  const Address mask = options_.page_size - 1;
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break;
    const Page& p = page(at & ~mask);
    const auto offset = static_cast<std::size_t>(at & mask);
    if (offset >= p.valid) break;
    const std::size_t n = std::min(out.size() - done, p.valid - offset);
    std::memcpy(out.data() + done, p.bytes + offset, n);
    done += n;
    if (p.valid < options_.page_size && done < out.size()) break;
  }
  if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

}  // namespace mixstack::memory
