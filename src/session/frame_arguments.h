// `this` and arguments of the managed frames of a dump, asked of the runtimes.
#pragma once

#include <memory>
#include <span>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// Fills in `ThreadDump::arguments` of the threads that stopped at the common instant; their registers must have been
/// kept. `data`: contents of strings, too.
void read_arguments(ProcessDump& dump, const Capture& capture,
                    std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, bool data);

}  // namespace mixstack::session
