// Who stops the runtime's threads, and which of them it waits for.
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

/// `threads` are those of the same capture. Nothing where nobody suspends, or a thread does that is none of the
/// runtime's (of a server's collector).
[[nodiscard]] std::optional<RuntimeSuspension> read_suspension(const RuntimeMemory& memory,
                                                               std::span<const ManagedThread> threads);

}  // namespace mixstack::dotnet
