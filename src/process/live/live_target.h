// A running process as a Target.
#pragma once

#include <memory>

#include "mixstack/target.h"
#include "process/live/late_look.h"

namespace mixstack::process {

struct LiveOptions {
  bool hold_all = false;     ///< hold every thread until all stacks are copied (live_capture.h says what differs)
  MakeLateLook late_look{};  ///< for threads that do not stop in time; null: they are missing
};

/// Opens a running process without disturbing it: nothing is attached between captures. `pid` may be the id of any of
/// its threads, and the process may live in other pid and mount namespaces.
///
/// Errors: no_such_process, permission_denied, unsupported_cpu (value is the ELF machine), unsupported (a kernel
/// thread), invalid_argument (our own process). `explain_ptrace_refusal` (ptrace_refusal.h) finds out more.
///
/// The target's methods may be called from any thread, one at a time; `memory()` from any number at once. `capture()`
/// answers, besides these errors, already_traced (value is the tracer's tid) and process_changed (the process became
/// another program; open it again). Threads that fail alone say so in their ThreadCapture. How the stop is made and
/// what is promised about it: thread_stopper.h and tracer.h.
[[nodiscard]] Result<std::unique_ptr<Target>> open_live(std::uint32_t pid, const LiveOptions& options = {});

}  // namespace mixstack::process
