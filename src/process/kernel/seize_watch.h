// Seizes threads of a process that may be in the middle of an exec.
#pragma once

#include <csignal>
#include <ctime>
#include <functional>

#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// An exec waits until each dying traced thread was collected by its tracer, and holds the lock that PTRACE_SEIZE needs
/// (cred_guard_mutex: de_thread in fs/exec.c, ptrace_attach in kernel/ptrace.c). A tracer that already has some threads
/// of the process and seizes another would wait for ever. So while it waits for the lock, which a signal may interrupt,
/// a timer's handler collects the dead threads, and the kernel restarts the call.
///
/// For a tracer in a process of its own: timer and handler are those of its process.
class SeizeWatch {
 public:
  /// `collect` runs in a signal handler that interrupts nothing but the system call in `seize`.
  explicit SeizeWatch(std::function<void()> collect) : collect_(std::move(collect)) {}
  SeizeWatch(const SeizeWatch&) = delete;
  SeizeWatch& operator=(const SeizeWatch&) = delete;

  /// In the tracer, once. Errors: `internal`.
  [[nodiscard]] Result<void> set_up();
  /// PTRACE_SEIZE; 0 or errno.
  [[nodiscard]] int seize(ThreadId tid, long options) const;

 private:
  static void on_timer(int, siginfo_t* info, void*);
  void collect_and_rearm() const;
  std::function<void()> collect_;
  timer_t timer_{};  // of the tracer's process; ends with it
};

}  // namespace mixstack::process
