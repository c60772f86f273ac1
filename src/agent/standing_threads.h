// Which threads stand where their last sample found them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "mixstack/address.h"

namespace mixstack::agent {

/// Where a thread waits: what the kernel shows of one that is off the processor and in a system call.
struct WaitPlace {
  Address pc = 0, sp = 0;
  std::int64_t number = -1;  ///< of the system call
};

/// What a sample of wall time saw of a thread that was interrupted while it waited.
struct WaitSample {
  Address pc = 0, sp = 0;
  bool was_cut_short = false;  ///< the system call answered EINTR; else the pc is back at it, to call again
  bool is_in_doubt = false;    ///< its stack was cut or holds a frame less than certain: who knows more sees more
  std::uint32_t frames = 0;
  std::uint64_t knowledge = 0;  ///< what was known when it was walked: a number that grows with what is learned
};

/// A thread that has not been on a processor since its last sample has the stack that it had, and needs no signal, no
/// walk and no wake-up. The kernel counts how often a thread was put on a processor (schedstat). A signal to one that
/// waits puts it there once; when it waits again in the same place with the count one higher, it ran our handler and
/// went back, nothing else. From then on it stands as long as it uses no processor time. Where there is no count (0),
/// nothing stands.
///
/// A stack in doubt is looked at again when more is known than at its last look, and the thread gets a signal for it.
/// Each look may make a wait longer (RepeatedCalls), so looks that show no more frames come after pauses that double,
/// and are over after some minutes; each that shows more begins anew.
/// One thread at a time.
class StandingThreads {
 public:
  /// `call_size`: bytes of the instruction of a system call.
  explicit StandingThreads(unsigned call_size) : call_size_(call_size) {}
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr unsigned kMostVainLooks = 12;

  /// Its last sample holds. `cpu`: its processor time now, in ns.
  [[nodiscard]] bool stands(std::uint32_t tid, std::uint64_t cpu) const;
  /// It may: ask for its place, then `confirm`. `runs`: its count now.
  [[nodiscard]] bool may_stand(std::uint32_t tid, std::uint64_t runs) const;
  /// A signal is to go to one that stands, since its stack is in doubt and more is known by now.
  [[nodiscard]] bool looks_again(std::uint32_t tid, std::uint64_t knowledge, Time now);
  /// A signal goes to a thread that waits, whose count was `runs` just before.
  void interrupted(std::uint32_t tid, std::uint64_t runs);
  /// The sample of that signal is here.
  void sampled(std::uint32_t tid, const WaitSample& sample);
  /// Answers whether it stands. `place` and `cpu` were seen while the count was what `may_stand` was asked with.
  bool confirm(std::uint32_t tid, const WaitPlace& place, std::uint64_t cpu);
  /// Nothing is known of it any more.
  void forget(std::uint32_t tid) { threads_.erase(tid); }
  /// The threads there are: all others are forgotten.
  void update(std::span<const std::uint32_t> tids);

 private:
  static constexpr std::size_t kMost = 4096;
  struct Thread {
    std::uint64_t runs = 0, cpu = 0;  ///< that it has when it stands
    WaitSample sample;
    bool is_sampled = false, stands = false;
    bool is_looked_at_again = false;  ///< it gets a signal that it did not ask for by running
    std::uint32_t most_frames = 0;    ///< that a look has shown since it ran
    unsigned vain_looks = 0;
    Time next_look{};
  };
  unsigned call_size_;
  std::unordered_map<std::uint32_t, Thread> threads_;
};

}  // namespace mixstack::agent
