// Which threads have run since they were captured, without touching them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/system/scoped_fd.h"
#include "features/record/run_balance.h"
#include "mixstack/target.h"

namespace mixstack::record {

/// /proc/PID/task/TID/schedstat: "cpu-ns queued-ns times-on-a-processor" (Documentation/scheduler/sched-stats.rst).
struct RunCount {
  std::uint64_t cpu_ns = 0, queued_ns = 0, runs = 0;
};
[[nodiscard]] std::optional<RunCount> parse_schedstat(std::string_view text);

/// /proc/PID/task/TID/syscall of a thread that waits in a system call: "number arguments sp pc", all but the first in
/// hexadecimal (proc_pid_syscall in fs/proc/base.c). Nothing for one that runs, or waits elsewhere.
struct WaitingCall {
  std::int64_t number = -1;
  Address sp = 0, pc = 0;
  friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};
[[nodiscard]] std::optional<WaitingCall> parse_waiting_call(std::string_view text);

/// The threads of one process. One thread at a time.
class ThreadWatch {
 public:
  /// The result of a round, in the order of the threads' ids.
  struct Round {
    std::vector<ThreadId> changed;    ///< have run since they were captured, or that is not known
    std::vector<ThreadId> running;    ///< have run since they were captured, or it is not known
    std::vector<ThreadId> unchanged;  ///< of those: on a CPU, as far as /proc says
    std::vector<ThreadId> ended;      ///< ended since the last round
  };
  explicit ThreadWatch(std::uint32_t pid);

  /// Errors: no_such_process; io_error if the list of threads cannot be read (too few file descriptors). A thread whose
  /// own files cannot be opened is `changed` in each round; some descriptors are left for other uses.
  [[nodiscard]] Result<Round> look();
  /// Notes how a thread that `look` returned as changed was captured.
  void captured(const ThreadCapture& thread);
  /// Whether a thread that is ready to run counts as queued in this round, not as running. It counts as running in as
  /// many rounds as its CPU time says.
  [[nodiscard]] bool was_queued(ThreadId tid);

 private:
  struct Thread {
    base::ScopedFd counts, call;       ///< schedstat and syscall, open as long as the thread lives
    RunCount before, now;              ///< in the last two rounds
    std::optional<WaitingCall> waits;  ///< where it was captured; nothing: it ran
    std::uint64_t runs_then = 0;       ///< `runs` at its capture, before the stop
    bool is_settled = false;           ///< it was seen waiting there after the stop: `runs_then` is of that time
    std::uint32_t round = 0;
    RunBalance balance;
    bool has_balance = false;               ///< comparable with an earlier round
    std::optional<bool> counts_as_running;  ///< in this round; nothing: not computed yet
  };
  // A stop makes a thread run twice: into the stop, and out of it back into its system call.
  static constexpr std::uint64_t kRunsOfAStop = 2;

  enum class Opened : std::uint8_t { yes, gone, refused };
  [[nodiscard]] Opened open(ThreadId tid, Thread& thread) const;
  [[nodiscard]] bool leaves_enough(const base::ScopedFd& file) const;
  [[nodiscard]] static bool is_unchanged(Thread& thread);
  [[nodiscard]] static bool is_running(Thread& thread);
  [[nodiscard]] static bool counts_as_running(Thread& thread);

  base::ScopedFd tasks_;  ///< /proc/PID/task
  int tasks_error_;       ///< errno if it could not be opened
  std::unordered_map<ThreadId, Thread> threads_;
  std::uint32_t round_ = 0;
  std::uint64_t end_of_files_ = 0;  ///< our descriptors stay below this number
};

}  // namespace mixstack::record
