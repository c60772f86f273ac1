#include "agent/in_process/sample_ring.h"

#include <bit>

namespace mixstack::agent {

SampleRing::SampleRing(std::size_t capacity)
    : mask_(std::bit_ceil(capacity) - 1),
      room_((mask_ + 1) * sizeof(Slot), self_walk::ZeroedPages::Presence::lazy),
      slots_(static_cast<Slot*>(room_.get())) {}

Sample* SampleRing::reserve() {
  std::uint64_t at = head_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t turn = slots_[at & mask_].turn.load(std::memory_order_acquire);
    const std::uint64_t mine = 2 * (at / (mask_ + 1));
    if (turn == mine) {
      if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) return &slots_[at & mask_].sample;
    } else if (turn < mine) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    } else {
      at = head_.load(std::memory_order_relaxed);
    }
  }
}

void SampleRing::commit(Sample* sample) {
  auto* slot = reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(sample) - offsetof(Slot, sample));
  slot->turn.store(slot->turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

const Sample* SampleRing::next() {
  const Slot& slot = slots_[tail_ & mask_];
  const std::uint64_t mine = 2 * (tail_ / (mask_ + 1)) + 1;
  return slot.turn.load(std::memory_order_acquire) == mine ? &slot.sample : nullptr;
}

void SampleRing::release() {
  Slot& slot = slots_[tail_++ & mask_];
  slot.turn.store(slot.turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace mixstack::agent
