// Lets threads make progress, however long a walk takes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mixstack/address.h"

namespace mixstack::agent {

/// The pc of each thread at its last sample of CPU time. A walk counts as the thread's CPU time. If it takes longer
/// than a period (a slow or emulated processor, a high rate), the next signal arrives before the thread has executed an
/// instruction, or between a load-exclusive and its store (AArch64's ldaxr and stlxr), for ever: livelock. So a sample
/// at the same pc as the last one is skipped, and its periods are added to the next one. Signal-safe; each thread calls
/// it for itself.
class Progress {
 public:
  /// The number of periods that a sample stands for; 0: skip it.
  [[nodiscard]] std::uint32_t periods(std::uint32_t tid, Address pc, std::uint32_t ended) noexcept {
    Slot& slot = slots_[tid % kSlots];
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const bool is_own = slot.tid.load(kRelaxed) == tid;
    const std::uint32_t owed = is_own ? slot.owed.load(kRelaxed) : 0;
    const bool stands = is_own && slot.pc.load(kRelaxed) == pc;
    slot.tid.store(tid, kRelaxed);
    slot.pc.store(stands ? kNowhere : pc, kRelaxed);
    slot.owed.store(stands ? owed + ended : 0, kRelaxed);
    return stands ? 0 : owed + ended;
  }

 private:
  static constexpr std::size_t kSlots = 1024;
  static constexpr Address kNowhere = ~Address{0};
  struct Slot {
    std::atomic<Address> pc{kNowhere};
    std::atomic<std::uint32_t> tid{0}, owed{0};
  };
  std::array<Slot, kSlots> slots_;
};

}  // namespace mixstack::agent
