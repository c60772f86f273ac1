// A timer of CPU time for each thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>

namespace mixstack::agent {

/// Each thread gets a signal when it has used a period of CPU time. The first comes after a part of a period that is
/// chosen by chance, so that threads that live shorter than a period are seen as often as they should be.
/// Thread-safe; not for signal handlers.
class ThreadTimers {
 public:
  /// The signal comes with si_code SI_TIMER and `mark` as its value. `hertz` is not 0.
  ThreadTimers(unsigned hertz, int signal, void* mark);
  ~ThreadTimers() { stop(); }
  ThreadTimers(const ThreadTimers&) = delete;
  ThreadTimers& operator=(const ThreadTimers&) = delete;

  /// A thread of our process that just began; one that is known keeps its timer. False: the system gives none (see
  /// RLIMIT_SIGPENDING), or there is no such thread.
  bool add(std::uint32_t tid);
  /// These threads are there: others lose their timers, and one whose number is used again gets a new one.
  void update(std::span<const std::uint32_t> tids);

  /// All are deleted, and none is made any more. A signal may still be on its way.
  void stop();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t refused() const;  ///< threads of the last `update` that have none

 private:
  using Timer = int;  // the kernel's
  [[nodiscard]] bool is_of_living(Timer timer) const;
  bool make(std::uint32_t tid);

  const std::uint64_t period_;  // ns
  const int signal_;
  void* const mark_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Timer> timers_;  // by tid
  std::minstd_rand random_;
  std::size_t refused_ = 0;
  bool is_stopped_ = false;
};

}  // namespace mixstack::agent
