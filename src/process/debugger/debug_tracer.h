// The tracer: everything that happens in its process, and only there.
#pragma once

#include "process/debugger/beginnings.h"
#include "process/debugger/holds.h"
#include "process/debugger/process_table.h"
#include "process/debugger/report_handler.h"
#include "process/debugger/report_loop.h"

namespace mixstack::process {

/// One thread does all: requests come one after the other from `DebugEngine`, reports of the kernel between them and
/// while they wait. Not thread-safe; created anywhere, used in the tracer's process.
struct DebugTracer {
  using Clock = ReportLoop::Clock;
  DebugTracer(EventQueue& events, MakeHandle make_handle) : table(events, std::move(make_handle)) {}
  DebugTracer(const DebugTracer&) = delete;
  DebugTracer& operator=(const DebugTracer&) = delete;

  ProcessTable table;
  Strays strays;
  ReportHandler handler{table, strays};
  ReportLoop loop{[this](const TraceeReport& report) { handler.handle(report); }};
  Holds holds{loop};
  Beginnings beginnings{table, strays, loop, holds};

  /// Waits for reports or for `wake` to become readable, then deals with the reports.
  void serve(int wake);
  /// Lets everything go.
  void release_all();
  /// As documented by DebuggedProcess; for a process that is debugged still.
  [[nodiscard]] Result<void> detach(TracedProcess& process, bool leave_stopped);
  /// The same. `process_changed` when an exec has made another program of it than the one of `generation`.
  [[nodiscard]] Result<Capture> capture(TracedProcess& process, std::uint64_t generation,
                                        const CaptureRequest& request);
};

}  // namespace mixstack::process
