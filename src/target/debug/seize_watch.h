// Seizes threads of a process that may be in the middle of an exec.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <ctime>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::target {

/// What the kernel reported of a tracee: waitpid's answer.
struct TraceeReport {
  pid_t tid = 0;
  int status = 0;
};

/// An exec waits, with the lock held that PTRACE_SEIZE needs (cred_guard_mutex: de_thread in fs/exec.c, ptrace_attach
/// in kernel/ptrace.c), until each dying thread that is traced was collected by its tracer. A tracer that already has
/// some threads of the process and seizes another would wait for ever. So while it waits for the lock, which a signal
/// may interrupt, a timer's handler collects what there is to collect, and the kernel begins the call again.
///
/// Used by the tracer only: timer and handler are those of its process.
class SeizeWatch {
 public:
  SeizeWatch() = default;
  SeizeWatch(const SeizeWatch&) = delete;
  SeizeWatch& operator=(const SeizeWatch&) = delete;

  /// In the tracer, once. Errors: `internal`.
  [[nodiscard]] Result<void> set_up();
  /// PTRACE_SEIZE; 0 or errno.
  [[nodiscard]] int seize(pid_t tid, long options);
  /// Moves what was collected meanwhile to the end of `out`, in the order in which it was reported.
  void take(std::vector<TraceeReport>& out);

 private:
  static void collect(int, siginfo_t* info, void*);

  std::vector<TraceeReport> reports_;  // of fixed size; the first `count_` hold something
  volatile std::size_t count_ = 0;
  timer_t timer_{};  // of the tracer's process; ends with it
};

}  // namespace mixstack::target
