// A CPU-time timer for each thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>

namespace mixstack::agent {

/// Each thread gets a signal per period of its CPU time. The first one comes after a random part of a period, so that
/// threads that live shorter than a period are sampled in proportion. Thread-safe; not for signal handlers.
class ThreadTimers {
 public:
  /// The signal comes with si_code SI_TIMER and `mark` as its value. `hertz` is not 0.
  ThreadTimers(unsigned hertz, int signal, void* mark);
  ~ThreadTimers() { stop(); }
  ThreadTimers(const ThreadTimers&) = delete;
  ThreadTimers& operator=(const ThreadTimers&) = delete;

  /// Adds a thread of our process that just began; a known one keeps its timer. False: timer_create failed (see
  /// RLIMIT_SIGPENDING), or there is no such thread.
  bool add(std::uint32_t tid);
  /// Sets the list of threads: others lose their timers, and a reused TID gets a new one.
  void update(std::span<const std::uint32_t> tids);

  /// Deletes all timers, and makes no more. A signal may still be pending.
  void stop();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t refused() const;  ///< threads of the last `update` without a timer

 private:
  using Timer = int;  // the kernel's id
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
