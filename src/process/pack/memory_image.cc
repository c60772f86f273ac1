#include "process/pack/memory_image.h"

#include <algorithm>
#include <cstring>

namespace mixstack::pack {

MemoryImage::Page* MemoryImage::page_at(Address aligned) {
  if (latest_ != nullptr && latest_at_ == aligned) return latest_;
  auto at = pages_.find(aligned);
  if (at == pages_.end()) {
    if (pages_.size() >= kMaxPages) {
      is_cut_ = true;
      return nullptr;
    }
    at = pages_.emplace(aligned, std::make_unique<Page>()).first;
  }
  latest_ = at->second.get();
  latest_at_ = aligned;
  return latest_;
}

void MemoryImage::add(Address address, std::span<const std::byte> bytes) { put(address, bytes, false); }

void MemoryImage::put(Address address, std::span<const std::byte> bytes, bool force) {
  while (!bytes.empty()) {
    const auto offset = static_cast<std::size_t>(address % kPage);
    const std::size_t n = std::min(bytes.size(), kPage - offset);
    if (Page* page = page_at(address - offset)) {
      for (std::size_t i = 0; i < n; i++) {
        if (!force && page->fresh[offset + i]) continue;
        page->bytes[offset + i] = bytes[i];
        page->known[offset + i] = page->fresh[offset + i] = true;
      }
    }
    address += n;
    bytes = bytes.subspan(n);
  }
}

void MemoryImage::remove(AddressRange range) {
  for (auto at = pages_.lower_bound(range.begin & ~Address{kPage - 1}); at != pages_.end() && at->first < range.end;
       ++at) {
    const Address begin = std::max(range.begin, at->first), end = std::min(range.end, at->first + kPage);
    for (Address a = begin; a < end; a++) {
      const auto i = static_cast<std::size_t>(a - at->first);
      at->second->known[i] = at->second->fresh[i] = false;
      at->second->bytes[i] = std::byte{0};
    }
  }
}

void MemoryImage::begin_again() {
  for (auto& [address, page] : pages_) page->fresh.reset();
}

void MemoryImage::for_each_run(const std::function<void(Address, std::span<std::byte>)>& take) {
  for (auto& [address, page] : pages_) {
    for (std::size_t i = 0; i < kPage;) {
      if (!page->known[i]) {
        i++;
        continue;
      }
      std::size_t end = i + 1;
      while (end < kPage && page->known[end]) end++;
      take(address + i, std::span(page->bytes).subspan(i, end - i));
      i = end;
    }
  }
}

}  // namespace mixstack::pack
