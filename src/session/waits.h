// What threads wait for, asked of the runtimes while their objects are as the capture found them.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// The frames of a thread as readers of waits want them. Names are borrowed from `symbols`.
[[nodiscard]] std::vector<dotnet::objects::WaitFrame> frames_of(const ThreadDump& thread,
                                                                const std::deque<SymbolInfo>& symbols);

/// Fills in `ThreadDump::wait` of the threads that stopped at the common instant. `symbols` name their managed frames.
void read_waits(ProcessDump& dump, const Capture& capture,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                const std::deque<SymbolInfo>& symbols);

}  // namespace mixstack::session
