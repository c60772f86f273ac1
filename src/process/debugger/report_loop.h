// Takes the kernel's reports and waits for them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "base/system/scoped_fd.h"
#include "process/kernel/ptrace.h"
#include "process/kernel/seize_watch.h"

namespace mixstack::process {

/// Reports are taken in batches before any is dealt with, so that no process can keep us from another. Created
/// anywhere, used in the tracer's process.
class ReportLoop {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ReportLoop(std::function<void(const TraceeReport&)> handle) : handle_(std::move(handle)) {}

  /// In the tracer, once. Errors: `internal`.
  [[nodiscard]] Result<void> set_up();
  /// PTRACE_SEIZE; 0 or errno.
  [[nodiscard]] int seize(ThreadId tid, long options) const { return seize_watch_.seize(tid, options); }
  /// Waits for reports, or for `wake` to become readable (-1: for nothing else); no time: as long as it takes.
  void wait(std::chrono::milliseconds at_most, int wake);
  /// Deals with the reports there are. Not from within `handle`.
  void turn();
  /// The last batch was full.
  [[nodiscard]] bool is_behind() const;
  /// Handles reports until `done` answers true. False at the deadline.
  [[nodiscard]] bool wait_until(const std::function<bool()>& done, Clock::time_point deadline);

 private:
  struct RawReport {
    pid_t tid = 0;
    int status = 0;
  };
  void collect();

  std::function<void(const TraceeReport&)> handle_;
  base::ScopedFd child_signals_;
  SeizeWatch seize_watch_{[this] { collect(); }};
  std::vector<RawReport> collected_;  // of fixed size; the first `count_` were taken by the handler of `seize_watch_`
  volatile std::size_t count_ = 0;
  std::vector<TraceeReport> batch_;
};

}  // namespace mixstack::process
