// Waits for handles that anybody may set.
#pragma once

#include "dotnet/bcl/waits.h"
#include "mixstack/waits.h"

namespace mixstack {

/// Whether a wait is for an event or semaphore of the operating system's kind. A mutex alone is held: who is told to
/// own another handle is known to set it, as the end of a timer's callbacks does, and others may do so, too.
[[nodiscard]] inline bool is_event(const ThreadWait& wait) {
  return wait.kind == WaitKind::wait_handle && wait.object.type != dotnet::bcl::kMutex;
}

}  // namespace mixstack
