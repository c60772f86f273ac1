#include "engine/self_walk/thread_stacks.h"

#include <algorithm>
#include <bit>

namespace mixstack::self_walk {

ThreadStacks::ThreadStacks(std::size_t most)
    : mask_(std::bit_ceil(std::clamp<std::size_t>(most, 16, 1 << 20)) * 2 - 1),
      pages_((mask_ + 1) * sizeof(Entry), ZeroedPages::Presence::lazy),
      entries_(static_cast<Entry*>(pages_.get())) {}

ThreadStacks::Entry* ThreadStacks::entry_of(Address thread_pointer) const {
  for (std::size_t i = start(thread_pointer), n = 0; n < kMostTries; i = (i + 1) & mask_, n++)
    if (entries_[i].thread_pointer.load(std::memory_order_relaxed) == thread_pointer) return &entries_[i];
  return nullptr;
}

bool ThreadStacks::add(Address thread_pointer, AddressRange stack, Address floor) {
  // A signal may interrupt between any two of these: first the entry is made invalid, then the bounds are written.
  Entry* entry = entry_of(thread_pointer);
  for (std::size_t i = start(thread_pointer), n = 0; entry == nullptr && n < kMostTries; i = (i + 1) & mask_, n++) {
    Address key = entries_[i].thread_pointer.load(std::memory_order_relaxed);
    if (key != kFree && key != kRemoved) continue;
    if (entries_[i].thread_pointer.compare_exchange_strong(key, thread_pointer)) entry = &entries_[i];
  }
  if (entry == nullptr) return false;
  entry->end.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entry->begin.store(stack.begin, std::memory_order_relaxed);
  entry->floor.store(floor, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entry->end.store(stack.end, std::memory_order_relaxed);
  return true;
}

void ThreadStacks::remove(Address thread_pointer) {
  if (Entry* entry = entry_of(thread_pointer)) {
    entry->end.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry->thread_pointer.store(kRemoved, std::memory_order_relaxed);
  }
}

}  // namespace mixstack::self_walk
