// A process sampled for a moment: what it runs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "features/record/stack_recorder.h"
#include "mixstack/busy.h"
#include "mixstack/dump.h"
#include "mixstack/recording.h"

namespace mixstack::why {

/// Whether the threads of a dump have used processor time since it was taken, more than a stop costs them, or would.
/// Waits until some milliseconds have passed since `began`, which is before the dump.
[[nodiscard]] bool has_run_since(const ProcessDump& dump, std::chrono::steady_clock::time_point began);

/// Called in the thread that samples; null: not.
struct SampleHooks {
  std::function<void()> tick{};   ///< some fifty times a second
  std::function<void()> ended{};  ///< when the time is over, before stacks are named
  std::function<void(const Recording& recording, const Busyness& busy)> done{};
};

/// Samples for `time`, by perf events where they are allowed, else by stops. If the process ends meanwhile, the answer
/// has the samples until then. `session` is the dump's; it is used until this returns. Errors: as
/// `record::open_recorder`.
[[nodiscard]] Result<Busyness> sample_busyness(const std::shared_ptr<record::SharedSession>& session,
                                               const ProcessDump& dump, std::chrono::milliseconds time,
                                               const SampleHooks& hooks = {});

}  // namespace mixstack::why
