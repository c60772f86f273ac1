// A thread that traces and ends.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::target {

/// The threads that were seized during one stop, without the main thread, whose end only its parent may collect.
/// Written by the tracer, read by the thread that waits for it.
class TraceeList {
 public:
  void add(pid_t tid) {
    const std::lock_guard lock(mutex_);
    tids_.push_back(tid);
  }
  void reserve(std::size_t n) {
    const std::lock_guard lock(mutex_);
    tids_.reserve(n);
  }
  [[nodiscard]] std::vector<pid_t> copy() const {
    const std::lock_guard lock(mutex_);
    return tids_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> tids_;
};

/// Whether a tracee has ended, without collecting it. waitid reports ptrace stops even when only ends are asked for.
[[nodiscard]] bool has_ended(pid_t tid);

/// Runs `work` in a thread of its own and waits for it. All ptrace calls of one stop belong into `work`.
///
/// Why a thread that ends: the kernel knows one thread as the tracer, no other may release a tracee, and a tracee that
/// was seized but has not stopped (vfork, uninterruptible sleep) cannot be released by PTRACE_DETACH at all. When the
/// tracer ends, the kernel releases everything it still traces, stopped or not, takes back requested stops and keeps
/// pending signals (Linux: exit_ptrace and __ptrace_unlink in kernel/ptrace.c). So no path out of `work` leaves a
/// thread traced, and nobody has to wait for late ones. When this function returns the kernel has done so.
///
/// The waiting thread meanwhile collects tracees that die: an exec waits, with the lock held that PTRACE_SEIZE needs,
/// until each of its dying traced threads was collected, and the tracer may be waiting for that very lock.
///
/// Both threads block all signals but those of faults while `work` runs, so that no handler and, in a process of one
/// thread, no terminal stop (SIGTSTP) comes between stop and release. SIGSTOP to us in that time, which nobody can
/// block, holds the target until we are continued; SIGKILL releases it.
///
/// Errors: `internal` with os_error when no thread can be made.
[[nodiscard]] Result<void> run_as_tracer(const std::function<void(TraceeList&)>& work);

}  // namespace mixstack::target
