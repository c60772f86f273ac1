// How the tracer handles the kernel's reports.
#pragma once

#include "process/debugger/process_table.h"

namespace mixstack::process {

class ReportHandler {
 public:
  /// Borrows both.
  ReportHandler(ProcessTable& table, Strays& strays) : table_(table), strays_(strays) {}
  void handle(const TraceeReport& report);

 private:
  void on_end(const TraceeReport& end);
  void end_process(TracedProcess& process, const TraceeReport& end);
  void on_stop(TracedProcess& process, Tracee& t, const TraceeReport& report);
  [[nodiscard]] bool on_startup(TracedProcess& process, Tracee& t, TraceeEvent event);
  [[nodiscard]] static bool ends_stepping(TracedProcess& process, Tracee& t);
  [[nodiscard]] static bool goes_on_in_startup(TracedProcess& process, Tracee& t);
  void on_new_task(TracedProcess& process, ThreadId parent, TraceeEvent event);
  void on_new_process(TracedProcess& process, ThreadId parent, ThreadId pid, ChildKind kind);
  [[nodiscard]] TracedProcess* adopt(ThreadId tid);

  ProcessTable& table_;
  Strays& strays_;
};

}  // namespace mixstack::process
