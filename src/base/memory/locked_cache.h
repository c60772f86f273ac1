// A page cache that several threads read through.
#pragma once

#include <mutex>

#include "base/memory/cached_memory.h"

namespace mixstack::memory {

/// For data that is read rarely and from any thread. Thread-safe. Borrows the reader below.
class LockedCache final : public MemoryReader {
 public:
  explicit LockedCache(const MemoryReader& below) : cache_(below) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    const std::lock_guard lock(mutex_);
    return cache_.read_some(address, out);
  }
  [[nodiscard]] bool has_whole_pages() const override { return cache_.has_whole_pages(); }
  /// Forgets everything: later reads see the target as it is now.
  void clear() {
    const std::lock_guard lock(mutex_);
    cache_.clear();
  }

 private:
  mutable std::mutex mutex_;
  CachedMemory cache_;
};

}  // namespace mixstack::memory
