// Finds threads that have not run since their last sample.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "mixstack/address.h"

namespace mixstack::agent {

/// The place where a thread waits in a system call, from /proc.
struct WaitPlace {
  Address pc = 0, sp = 0;
  std::int64_t number = -1;  ///< of the system call
};

/// Facts of a wall-time sample of a thread that was interrupted while it waited.
struct WaitSample {
  Address pc = 0, sp = 0;
  bool was_cut_short = false;  ///< the system call returned EINTR; false: the pc is back at it, to restart it
  bool is_in_doubt = false;    ///< its stack was cut or holds an uncertain frame: a later walk may do better
  std::uint32_t frames = 0;
  std::uint64_t knowledge = 0;  ///< KnownCode::learned at the walk
};

/// A thread that has not been on a processor since its last sample still has the same stack, and needs no signal, no
/// walk and no wake-up. The kernel counts how often a thread was put on a processor (schedstat). A signal to a waiting
/// thread puts it there once; if it waits again in the same place with the count one higher, it only ran our handler.
/// From then on it stands as long as it uses no processor time. Without a count (0) no thread stands.
///
/// A stack in doubt is walked again when more code is known than at its last walk: the thread gets a signal. Each
/// signal may make a wait longer (RepeatedCalls), so looks that show no more frames have doubling pauses, and end after
/// some minutes (kMostVainLooks); one that shows more frames starts over. Not thread-safe.
class StandingThreads {
 public:
  /// `call_size`: bytes of the instruction of a system call.
  explicit StandingThreads(unsigned call_size) : call_size_(call_size) {}
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr unsigned kMostVainLooks = 12;

  /// Whether its last sample still holds. `cpu`: its processor time now, in ns.
  [[nodiscard]] bool stands(std::uint32_t tid, std::uint64_t cpu) const;
  /// Whether it may stand: then read its place and call `confirm`. `runs`: its count now.
  [[nodiscard]] bool may_stand(std::uint32_t tid, std::uint64_t runs) const;
  /// Whether to send a signal to a standing thread, because its stack is in doubt and more is known now.
  [[nodiscard]] bool looks_again(std::uint32_t tid, std::uint64_t knowledge, Time now);
  /// A waiting thread is about to get a signal; its count was `runs` just before.
  void interrupted(std::uint32_t tid, std::uint64_t runs);
  /// The sample of that signal.
  void sampled(std::uint32_t tid, const WaitSample& sample);
  /// Returns whether it stands. `place` and `cpu` were read while the count was the one given to `may_stand`.
  bool confirm(std::uint32_t tid, const WaitPlace& place, std::uint64_t cpu);
  /// Forgets a thread.
  void forget(std::uint32_t tid) { threads_.erase(tid); }
  /// Forgets all threads but these.
  void update(std::span<const std::uint32_t> tids);

 private:
  static constexpr std::size_t kMost = 4096;
  struct Thread {
    std::uint64_t runs = 0, cpu = 0;  ///< expected values if it stands
    WaitSample sample;
    bool is_sampled = false, stands = false;
    bool is_looked_at_again = false;  ///< the next signal is for a stack in doubt, not because it ran
    std::uint32_t most_frames = 0;    ///< of the walks since it last ran
    unsigned vain_looks = 0;
    Time next_look{};
  };
  unsigned call_size_;
  std::unordered_map<std::uint32_t, Thread> threads_;
};

}  // namespace mixstack::agent
