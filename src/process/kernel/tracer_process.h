// The process that traces: shares the host's memory, but not its children and signals.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <functional>
#include <memory>

#include "mixstack/result.h"

namespace mixstack::process {

/// Runs a function in a process made by clone(CLONE_VM | CLONE_FS | CLONE_FILES), without CLONE_THREAD and
/// CLONE_SIGHAND: debug_session.h says why. A thread of the host lends it its thread-local storage (errno, the
/// allocator's caches) and sleeps in one system call until the process has ended, which it then reports.
///
/// In the process all signals are blocked and at their defaults. It is killed when the lending thread ends, which
/// includes every way the host can end or exec. No signal announces its end, and only a wait with __WALL or __WCLONE
/// sees it.
class TracerProcess {
 public:
  /// `main` runs in the process; `ended` in the lending thread when the process has gone and the kernel has let all its
  /// tracees go. Errors: `internal` with os_error.
  [[nodiscard]] static Result<std::unique_ptr<TracerProcess>> start(std::function<void()> main,
                                                                    std::function<void()> ended);
  /// Waits until the process has ended: `main` must have been told to return. Does nothing in a child the host forked.
  ~TracerProcess();
  TracerProcess(const TracerProcess&) = delete;
  TracerProcess& operator=(const TracerProcess&) = delete;

  [[nodiscard]] pid_t pid() const;
  /// Once it has ended: what it exited with; 0: `main` returned, or it was killed.
  [[nodiscard]] int exit_status() const;
  /// False in a process that the host forked, where there is a copy of this object but no tracer.
  [[nodiscard]] bool is_ours() const;

 private:
  struct Job;
  TracerProcess();
  std::unique_ptr<Job> job_;
  pthread_t thread_{};
};

}  // namespace mixstack::process
