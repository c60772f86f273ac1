// A ring buffer of samples, from signal handlers to one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/in_process/deep_stacks.h"
#include "base/words/profile.h"
#include "engine/self_walk/zeroed_pages.h"
#include "mixstack/address.h"
#include "mixstack/frame.h"

namespace mixstack::agent {

/// A stack walked in a handler.
struct Sample {
  static constexpr std::size_t kMostFrames = 254;  ///< a deeper stack is in `deep`
  std::uint32_t tid = 0;
  std::uint32_t weight = 1;  ///< periods that it stands for
  std::uint32_t count = 0;
  std::uint32_t doubtful = 0;  ///< this many of the outermost frames are doubtful, as in Profile::Stack
  StopReason stop = StopReason::end_of_stack;
  SampleState state = SampleState::cpu;
  bool was_cut_short = false;                      ///< the signal interrupted a system call, which returns EINTR
  Address sp = 0;                                  ///< of the first frame
  std::uint64_t knowledge = 0;                     ///< KnownCode::learned when it was walked
  DeepStack* deep = nullptr;                       ///< not null: holds the frames instead of the arrays below
  std::array<Address, kMostFrames> addresses;      ///< exact for the first, return addresses for the others
  std::array<std::uint32_t, kMostFrames> methods;  ///< numbers of JitMap; 0: no jitted code

  [[nodiscard]] Address address(std::size_t i) const { return deep != nullptr ? deep->addresses[i] : addresses[i]; }
  [[nodiscard]] std::uint32_t method(std::size_t i) const { return deep != nullptr ? deep->methods[i] : methods[i]; }
};

/// Many writers in signal handlers, one reader. A writer without a free slot counts a loss and returns. While a writer
/// is interrupted, later samples stay hidden until it commits. No locks, no allocation after the constructor. The
/// capacity is rounded up to a power of two.
class SampleRing {
 public:
  explicit SampleRing(std::size_t capacity);
  [[nodiscard]] bool is_usable() const { return slots_ != nullptr; }

  /// A slot to fill; null: the ring is full. Signal-safe.
  [[nodiscard]] Sample* reserve();
  /// The slot from `reserve` is complete. Signal-safe.
  void commit(Sample* sample);

  /// The oldest sample; null: none, or it is not complete. Valid until `release`.
  [[nodiscard]] const Sample* next();
  void release();
  /// Its memory, once every slot was used.
  [[nodiscard]] std::size_t most_bytes() const { return (mask_ + 1) * sizeof(Slot); }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn;  ///< whose turn it is: 2n for the n-th writer here, 2n + 1 for its reader
    Sample sample;
  };
  std::size_t mask_;
  self_walk::ZeroedPages room_;
  Slot* slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::uint64_t tail_ = 0;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace mixstack::agent
