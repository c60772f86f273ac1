// Waits of threads, asked of the runtimes while their objects are as the capture found them.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "dotnet/async/waiting_thread.h"
#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// The frames of each thread of a dump, as readers of waits want them.
using WaitFrames = std::vector<std::vector<dotnet::objects::WaitFrame>>;
/// `symbols` name managed frames; names are borrowed from them.
[[nodiscard]] WaitFrames wait_frames(const ProcessDump& dump, const std::deque<SymbolInfo>& symbols);

/// Fills in `ThreadDump::wait` of the threads that stopped at the common instant. `memory` has their code.
void read_waits(ProcessDump& dump, const Capture& capture, const MemoryReader& memory,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, const WaitFrames& frames);

}  // namespace mixstack::session
