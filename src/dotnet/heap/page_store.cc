#include "dotnet/heap/page_store.h"

#include <algorithm>
#include <cstring>

namespace mixstack::dotnet::objects {

const PageStore::Page* PageStore::page(Address aligned) const {
  if (aligned == latest_at_) return latest_;
  auto it = pages_.find(aligned);
  if (it == pages_.end()) {
    if (pages_.size() >= kMostPages) return nullptr;
    Page page{std::make_unique_for_overwrite<std::byte[]>(kPage), 0};
    const auto n = below_.read_some(aligned, {page.bytes.get(), kPage});
    page.valid = n ? *n : 0;
    if (page.valid == 0) page.bytes.reset();
    it = pages_.emplace(aligned, std::move(page)).first;
  }
  latest_at_ = aligned;
  return latest_ = &it->second;
}

Result<std::size_t> PageStore::read_some(Address address, std::span<std::byte> out) const {
  if (!below_.has_whole_pages()) return below_.read_some(address, out);
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    const std::size_t from = at % kPage;
    const Page* p = page(at - from);
    if (p == nullptr) {
      const auto n = below_.read_some(at, out.subspan(done));
      if (n) return done + *n;
      break;
    }
    if (p->valid <= from) break;
    const std::size_t n = std::min(p->valid - from, out.size() - done);
    std::memcpy(out.data() + done, p->bytes.get() + from, n);
    done += n;
    if (from + n < kPage && done < out.size()) break;
  }
  if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

void PageStore::keep(Address address, std::size_t size, Address base, std::span<const std::byte> bytes) {
  for (Address at = address & ~Address{kPage - 1}; at < address + size; at += kPage) {
    if (at < base || at - base > bytes.size() || bytes.size() - (at - base) < kPage) continue;  // not a whole one
    if (pages_.size() >= kMostPages) return;
    const auto [it, is_new] = pages_.try_emplace(at);
    if (!is_new) continue;
    it->second.bytes = std::make_unique_for_overwrite<std::byte[]>(kPage);
    std::memcpy(it->second.bytes.get(), bytes.data() + (at - base), kPage);
    it->second.valid = kPage;
  }
}

}  // namespace mixstack::dotnet::objects
