// Stack bounds of the threads that were added.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/self_walk/zeroed_pages.h"
#include "mixstack/address.h"

namespace mixstack::self_walk {

/// Keyed by thread pointer (the address of a thread's control block), which a signal handler can read directly. Open
/// addressing; `find` is signal-safe.
class ThreadStacks {
 public:
  explicit ThreadStacks(std::size_t most);
  [[nodiscard]] bool is_usable() const { return entries_ != nullptr; }

  /// Called by the thread itself, like `remove`. False: no room. `floor`: memory below is known not to belong to the
  /// stack.
  [[nodiscard]] bool add(Address thread_pointer, AddressRange stack, Address floor = 0);
  void remove(Address thread_pointer);
  /// The bounds that the thread gave; empty: none. For the calling thread only.
  [[nodiscard]] AddressRange find(Address thread_pointer) const {
    for (std::size_t i = start(thread_pointer), n = 0; n < kMostTries; i = (i + 1) & mask_, n++) {
      const Entry& entry = entries_[i];
      const Address key = entry.thread_pointer.load(std::memory_order_relaxed);
      // Written by this very thread before, so that no ordering is needed.
      if (key == thread_pointer)
        return {entry.begin.load(std::memory_order_relaxed), entry.end.load(std::memory_order_relaxed)};
      if (key == kFree) break;
    }
    return {};
  }
  /// The floor given to `add`; 0: not known. For the calling thread only.
  [[nodiscard]] Address floor(Address thread_pointer) const {
    const Entry* entry = entry_of(thread_pointer);
    return entry == nullptr ? 0 : entry->floor.load(std::memory_order_relaxed);
  }

 private:
  static constexpr Address kFree = 0, kRemoved = 1;  ///< no addresses of control blocks
  static constexpr std::size_t kMostTries = 16;
  struct Entry {
    std::atomic<Address> thread_pointer;
    std::atomic<Address> begin, end, floor;
  };
  [[nodiscard]] std::size_t start(Address thread_pointer) const {
    return static_cast<std::size_t>(thread_pointer * 0x9e3779b97f4a7c15u >> 40) & mask_;
  }
  [[nodiscard]] Entry* entry_of(Address thread_pointer) const;

  std::size_t mask_;
  ZeroedPages pages_;
  Entry* entries_;  ///< in `pages_`
};

}  // namespace mixstack::self_walk
