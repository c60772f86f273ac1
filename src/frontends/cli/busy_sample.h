// Samples a process for a moment, to find the functions that it runs.
#pragma once

#include <chrono>
#include <memory>

#include "base/words/busy.h"
#include "frontends/cli/program.h"
#include "mixstack/session.h"

namespace mixstack::cli {

/// Whether the threads of a dump have used more processor time since it was taken than our stop costs, or are ready to
/// run. Waits until some milliseconds have passed since `began`, which is before the dump.
[[nodiscard]] bool has_run_since(const ProcessDump& dump, std::chrono::steady_clock::time_point began);

/// Samples for `time`, by perf events if they are allowed, else by stops. If the process ends meanwhile, the result
/// covers the samples until then. `session` is the dump's. Errors: as `record::open_recorder`.
[[nodiscard]] Result<Busyness> sample_busyness(std::unique_ptr<Session> session, const ProcessDump& dump,
                                               std::chrono::milliseconds time, const Environment& environment);

}  // namespace mixstack::cli
