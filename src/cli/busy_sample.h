// What a process runs, sampled for a moment.
#pragma once

#include <chrono>
#include <memory>

#include "cli/program.h"
#include "mixstack/session.h"
#include "model/busy.h"

namespace mixstack::cli {

/// Whether the threads of a dump have used processor time since it was taken, more than a stop costs them, or would.
/// Waits until some milliseconds have passed since `began`, which is before the dump.
[[nodiscard]] bool has_run_since(const ProcessDump& dump, std::chrono::steady_clock::time_point began);

/// Samples for `time`, by perf events where they are allowed, else by stops. A process that ends meanwhile is told of
/// as far as it was seen. `session` is that of the dump. Errors: as `profile::open_recorder`.
[[nodiscard]] Result<Busyness> sample_busyness(std::unique_ptr<Session> session, const ProcessDump& dump,
                                               std::chrono::milliseconds time, const Environment& environment);

}  // namespace mixstack::cli
