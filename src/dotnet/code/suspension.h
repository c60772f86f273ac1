// The thread that stops the runtime's threads, and the threads it waits for.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

/// The runtime's threads are being stopped, or stand still: for a garbage collection, mostly. Ids as the runtime has
/// them (`ManagedThread::os_id`).
struct RuntimeSuspension {
  std::uint64_t by = 0;
  /// Threads in cooperative mode: they must leave it before the suspension is complete. Empty: it is.
  std::vector<std::uint64_t> waits_for;
};

/// `threads` are those of the same capture. Nothing where no thread suspends, or where that thread is none of the
/// runtime's (a thread of a server's collector).
[[nodiscard]] std::optional<RuntimeSuspension> read_suspension(const RuntimeMemory& memory,
                                                               std::span<const ManagedThread> threads);

}  // namespace mixstack::dotnet
