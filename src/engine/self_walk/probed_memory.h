// Our own memory, for one walk: each page is probed once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/memory/page_probe.h"
#include "mixstack/memory_reader.h"

namespace mixstack::self_walk {

/// Belongs to one walk. Signal-safe: no allocation, nothing to destroy.
///
/// Memory that a walk reads here stays mapped while it runs: stacks in use, and images whose code is on them. Pages are
/// probed because a damaged stack may lead anywhere.
class ProbedMemory final : public MemoryReader {
 public:
  explicit ProbedMemory(memory::PageProbe probe) : probe_(probe) {}

  /// Whether all of [address, address + size) can be read.
  [[nodiscard]] bool is_readable(Address address, std::uint64_t size) {
    if (size == 0) return true;
    const Address last = (address + size - 1) / kPage;
    if (address + size < address || last - address / kPage > kMostPagesAtOnce) return false;
    for (Address page = address / kPage; page <= last; page++)
      if (page != latest_ && !probe(page)) return false;
    return true;
  }
  template <class T>
  [[nodiscard]] bool load(Address address, T& out) {
    if (!is_readable(address, sizeof(T))) return false;
    std::memcpy(&out, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)), sizeof(T));
    return true;
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (!const_cast<ProbedMemory*>(this)->is_readable(address, out.size()))  // only the record of pages changes
      return fail(ErrorCode::unreadable_memory, address);
    std::memcpy(out.data(), reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)), out.size());
    return out.size();
  }
  [[nodiscard]] std::uint32_t pages_probed() const { return pages_probed_; }

 private:
  // The smallest page of any kernel: larger ones are only probed more often than needed.
  static constexpr Address kPage = 4096;
  static constexpr Address kMostPagesAtOnce = 64;  // an FDE has some 20 KB at most
  static constexpr std::size_t kKept = 32;

  [[nodiscard]] bool probe(Address page) {
    const std::size_t kept = std::min<std::size_t>(next_, kKept);
    for (std::size_t i = 0; i < kept; i++) {
      if (pages_[i] == page) {
        latest_ = page;
        return true;
      }
    }
    pages_probed_++;
    if (!probe_.is_readable(page * kPage)) return false;
    pages_[next_++ % kKept] = page;
    latest_ = page;
    return true;
  }

  memory::PageProbe probe_;
  std::uint32_t pages_probed_ = 0;
  std::size_t next_ = 0;
  Address latest_ = ~Address{0};
  std::array<Address, kKept> pages_;  // the first `next_` are set; the others not even initialized, for speed
};

}  // namespace mixstack::self_walk
