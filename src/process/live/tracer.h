// The tracer of one stop: a process of its own, which ends with the stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/kernel/seize_watch.h"

namespace mixstack::process {

/// Services for a stop, in the process or thread that makes it. Used by that one only, unless said otherwise.
class Tracer {
 public:
  enum class Kind : std::uint8_t {
    process,  ///< shares our memory, but not our signals, our children and our stops
    thread,   ///< of our own process: where only our own process may trace
  };
  explicit Tracer(Kind kind) : kind_(kind) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  [[nodiscard]] Kind kind() const { return kind_; }
  void reserve(std::size_t threads);
  /// The thread was seized. Not for the main thread, whose end only its parent may collect.
  void add(ThreadId tid);
  /// PTRACE_SEIZE; 0 or errno. While it waits for an exec that waits for us, a SeizeWatch (for a tracer thread: the
  /// thread that waits for it) collects dead threads.
  [[nodiscard]] int seize(ThreadId tid, long options);

  /// Gives the tracer real-time priority (SCHED_RR), if permitted, until it ends: its held threads stand still until it
  /// gets a processor, some 10 ms if all are busy. For a few threads at a time; hundreds need its processor to stop at
  /// all. A tracer that is a thread stays as it is.
  void come_first() const;

  /// Reads of the target's memory in a stop lie between the two: a page may be served by somebody who never answers, a
  /// thread of the stopped target for example. A tracer that sleeps in such a read too long is killed.
  void begin_read() { read_since_.store(now(), std::memory_order_release); }
  void end_read() { read_since_.store(0, std::memory_order_release); }
  /// For the watching thread: how long the read has taken so far, 0 if there is none.
  [[nodiscard]] std::chrono::nanoseconds reading_for() const;

  /// Collects seized threads that have died. For the watching thread, and for the timer's handler.
  void collect_dead() const;

 private:
  static std::int64_t now();
  const Kind kind_;
  bool has_timer_ = false;
  std::atomic<std::int64_t> read_since_{0};
  mutable std::mutex mutex_;  // taken only where there are two threads
  std::vector<ThreadId> tids_;
  SeizeWatch watch_{[this] { collect_dead(); }};
};

/// Runs `work` in a tracer and waits for it. All ptrace calls of one stop belong into `work`.
///
/// Why a tracer that ends: the kernel knows one thread as the tracer, no other may release a tracee, and a tracee that
/// was seized but has not stopped (vfork, uninterruptible sleep) cannot be released by PTRACE_DETACH at all. When the
/// tracer ends, the kernel releases everything it still traces, stopped or not, takes back requested stops and keeps
/// pending signals (Linux: exit_ptrace and __ptrace_unlink in kernel/ptrace.c). So no path out of `work` leaves a
/// thread traced, and nobody has to wait for late ones. When this function returns the kernel has done so.
///
/// Why a process: it can be killed alone, and is, when a read of the target's memory never ends, so that the target
/// goes on; SIGINT and SIGTERM end us, and with us the tracer, at any moment, even in such a read; and a SIGSTOP that
/// hits us does not hit it, since it is in a process group of its own, so that it ends the stop all the same. It works
/// at the highest priority that we may ask for, lest a busy machine make the stop longer.
///
/// With Yama's ptrace_scope = 1 and without CAP_SYS_PTRACE only our own process may trace its children: `kind` thread.
/// Then signals are blocked while `work` runs, and a read that never ends is not ended.
///
/// Errors: `internal` with os_error when no tracer can be made; `io_error` with ETIMEDOUT when it was killed because a
/// read did not end, or with ECHILD when somebody else killed it: `work` has not returned then, but what it has written
/// may be used.
[[nodiscard]] Result<void> run_as_tracer(const std::function<void(Tracer&)>& work,
                                         Tracer::Kind kind = Tracer::Kind::process);

}  // namespace mixstack::process
