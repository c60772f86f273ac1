// Holds threads of debugged processes, and waits until they stand still.
#pragma once

#include <span>

#include "process/debugger/report_loop.h"
#include "process/debugger/traced_process.h"

namespace mixstack::process {

/// As documented by DebuggedProcess. For processes that are debugged still.
class Holds {
 public:
  using Clock = ReportLoop::Clock;
  explicit Holds(ReportLoop& loop) : loop_(loop) {}

  [[nodiscard]] Result<void> pause(TracedProcess& process, Clock::time_point deadline);
  [[nodiscard]] Result<void> pause(TracedProcess& process, ThreadId tid, Clock::time_point deadline);
  /// Holds threads (empty: all). With `must_stop`, at the deadline nothing is held and the answer is an error.
  [[nodiscard]] Result<std::uint64_t> add_guard(TracedProcess& process, std::span<const ThreadId> tids,
                                                Clock::time_point deadline, bool must_stop);
  /// Waits until every held thread stands still; with `guard`, those that it holds. False at the deadline.
  [[nodiscard]] bool wait_until_still(TracedProcess& process, Clock::time_point deadline, std::uint64_t guard = 0);

 private:
  ReportLoop& loop_;
};

}  // namespace mixstack::process
