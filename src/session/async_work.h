// Async methods, thread pool and timers of a dump, asked of the runtimes when waits of threads are known.
#pragma once

#include <memory>
#include <span>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"
#include "session/waits.h"

namespace mixstack::session {

/// Fills in `RuntimeSummary::pending`, and the owners of tasks that are run by a thread at the end of a chain of async
/// methods. To be called after `read_waits`, with the same frames. `data`: the user's own data are told, too.
void read_pending_work(ProcessDump& dump, const Capture& capture,
                       std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, const WaitFrames& frames,
                       bool data);

}  // namespace mixstack::session
