// How the tracer attaches to processes and launches them.
#pragma once

#include "process/debugger/holds.h"
#include "process/debugger/process_table.h"
#include "process/debugger/report_loop.h"

namespace mixstack::process {

/// As documented by DebugSession. Borrows all.
class Beginnings {
 public:
  Beginnings(ProcessTable& table, Strays& strays, ReportLoop& loop, Holds& holds)
      : table_(table), strays_(strays), loop_(loop), holds_(holds) {}
  [[nodiscard]] Result<ProcessPointer> attach(std::uint32_t pid, const DebugOptions& options);
  [[nodiscard]] Result<ProcessPointer> launch(const LaunchRequest& request);

 private:
  [[nodiscard]] Result<ProcessPointer> attach_once(std::uint32_t pid, const DebugOptions& options);
  void wait_until_left(std::uint32_t pid);
  [[nodiscard]] Result<void> seize_all(TracedProcess& process);
  [[nodiscard]] Result<bool> seize(TracedProcess& process, ThreadId tid);
  void wait_until_held(TracedProcess& process, std::chrono::milliseconds limit);

  ProcessTable& table_;
  Strays& strays_;
  ReportLoop& loop_;
  Holds& holds_;
};

}  // namespace mixstack::process
