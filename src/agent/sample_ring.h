// From signal handlers to a thread: samples in a ring of fixed size.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/deep_stacks.h"
#include "mixstack/address.h"
#include "mixstack/frame.h"
#include "model/profile.h"
#include "self_walk/zeroed_pages.h"

namespace mixstack::agent {

/// A stack as a handler found it.
struct Sample {
  static constexpr std::size_t kMostFrames = 254;  ///< more of them are in a stack of DeepStacks
  std::uint32_t tid = 0;
  std::uint32_t weight = 1;  ///< periods that it stands for
  std::uint32_t count = 0;
  std::uint32_t doubtful = 0;  ///< the last so many, as Profile::Stack has it
  StopReason stop = StopReason::end_of_stack;
  SampleState state = SampleState::cpu;
  bool was_cut_short = false;                      ///< a system call was left with EINTR for the signal
  Address sp = 0;                                  ///< of the first frame
  std::uint64_t knowledge = 0;                     ///< KnownCode::learned when it was walked
  DeepStack* deep = nullptr;                       ///< has the frames, in place of what follows; to be given back
  std::array<Address, kMostFrames> addresses;      ///< exact for the first, return addresses for the others
  std::array<std::uint32_t, kMostFrames> methods;  ///< as JitMap has it, where jitted code lies; 0: none

  [[nodiscard]] Address address(std::size_t i) const { return deep != nullptr ? deep->addresses[i] : addresses[i]; }
  [[nodiscard]] std::uint32_t method(std::size_t i) const { return deep != nullptr ? deep->methods[i] : methods[i]; }
};

/// Many writers in signal handlers, one reader. A writer that finds no room counts a loss and goes on; one that is
/// interrupted by another writer hides what follows only until it goes on. No locks, no allocation after the
/// constructor. The capacity is a power of two.
class SampleRing {
 public:
  explicit SampleRing(std::size_t capacity);
  [[nodiscard]] bool is_usable() const { return slots_ != nullptr; }

  /// A slot to fill, or null: full. Signal-safe.
  [[nodiscard]] Sample* reserve();
  /// The slot from `reserve` is complete. Signal-safe.
  void commit(Sample* sample);

  /// The oldest that is complete, or null. It stays until `release`.
  [[nodiscard]] const Sample* next();
  void release();
  /// Its memory, if all of it was touched.
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
