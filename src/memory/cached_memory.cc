#include "memory/cached_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mixstack::memory {
namespace {

[[nodiscard]] CacheOptions checked(CacheOptions o) {
  o.page_size = std::bit_ceil(std::clamp<std::size_t>(o.page_size, 64, 1 << 20));
  o.max_pages = std::clamp<std::size_t>(o.max_pages, 8, 1 << 24);
  o.read_ahead_pages = std::clamp<std::size_t>(o.read_ahead_pages, 1, o.max_pages / 2);
  return o;
}

}  // namespace

CachedMemory::CachedMemory(const MemoryReader& below, const CacheOptions& options)
    : below_(below),
      options_(checked(options)),
      buffer_(std::make_unique<std::byte[]>(options_.read_ahead_pages * options_.page_size)) {}

void CachedMemory::clear() {
  index_.clear();
  used_ = 0;
  next_victim_ = 0;
  latest_ = nullptr;
  generation_++;
}

CachedMemory::Page& CachedMemory::slot_for(Address aligned) const {
  if (auto known = index_.find(aligned); known != index_.end()) return pages_[known->second];
  std::size_t slot = used_;
  if (used_ < options_.max_pages) {
    used_++;
    if (slot == pages_.size())
      pages_.push_back({0, 0, std::make_unique_for_overwrite<std::byte[]>(options_.page_size)});
  } else {
    slot = next_victim_;
    next_victim_ = (next_victim_ + 1) % used_;
    index_.erase(pages_[slot].address);
  }
  latest_ = nullptr;
  pages_[slot].address = aligned;
  index_[aligned] = static_cast<std::uint32_t>(slot);
  return pages_[slot];
}

void CachedMemory::load(Address aligned, std::size_t count) const {
  const Address to_the_top = aligned == 0 ? count : (Address{0} - aligned) / options_.page_size;
  const std::size_t wanted = static_cast<std::size_t>(std::min<Address>(count, to_the_top)) * options_.page_size;
  std::size_t n = 0;
  while (n < wanted) {
    auto got = below_.read_some(aligned + n, {buffer_.get() + n, wanted - n});
    if (!got || *got == 0) break;
    n += *got;
  }
  for (std::size_t at = 0; at == 0 || at < n; at += options_.page_size) {
    Page& p = slot_for(aligned + at);
    p.valid = std::min(options_.page_size, n - at);
    std::memcpy(p.bytes.get(), buffer_.get() + at, p.valid);
  }
}

const CachedMemory::Page& CachedMemory::page(Address aligned) const {
  if (latest_ != nullptr && latest_->address == aligned) return *latest_;
  auto known = index_.find(aligned);
  if (known == index_.end()) {
    load(aligned, options_.read_ahead_pages);
    known = index_.find(aligned);
  }
  latest_ = &pages_[known->second];
  return *latest_;
}

void CachedMemory::prefetch(AddressRange range) const {
  const Address page_size = options_.page_size;
  const Address first = range.begin & ~(page_size - 1);
  Address pages = range.empty() ? 0 : (range.end - 1 - first) / page_size + 1;
  pages = std::min<Address>(pages, options_.max_pages / 2);
  for (Address i = 0; i < pages; i++) {
    if (index_.contains(first + i * page_size)) continue;
    load(first + i * page_size, std::min<std::size_t>(static_cast<std::size_t>(pages - i), options_.read_ahead_pages));
  }
}

Result<std::size_t> CachedMemory::read_some(Address address, std::span<std::byte> out) const {
  if (out.size() > options_.max_pages / 4 * options_.page_size) return below_.read_some(address, out);
  const Address mask = options_.page_size - 1;
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break;
    const Page& p = page(at & ~mask);
    const auto offset = static_cast<std::size_t>(at & mask);
    if (offset >= p.valid) break;
    const std::size_t n = std::min(out.size() - done, p.valid - offset);
    std::memcpy(out.data() + done, p.bytes.get() + offset, n);
    done += n;
    if (p.valid < options_.page_size && done < out.size()) break;
  }
  if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

}  // namespace mixstack::memory
