// The heaps of a dump's runtimes, searched for async methods while the process stands still.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// Puts the chains of the whole heap in place of those that no thread waits for; fills in `PendingWork::gc` in any
/// case. A process is stopped for it, each runtime's heap once, and again where a collection was under way. `wanted` as
/// in `DumpOptions::heap`; null: no search. `types_too`: what a search must know of types is read in any case. To be
/// called after `read_pending_work`. `is_frozen`: of a core.
void read_heaps(ProcessDump& dump, const MemoryReader& memory, bool is_frozen,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                const std::function<bool(std::uint64_t)>& wanted, bool types_too);

}  // namespace mixstack::session
