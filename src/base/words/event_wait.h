// Waits for handles that any thread may set.
#pragma once

#include "dotnet/bcl/waits.h"
#include "mixstack/waits.h"

namespace mixstack {

/// Whether a wait is for an operating-system event or semaphore. Only a mutex is held by its owner: the recorded owner
/// of any other handle is known to set it (a timer at the end of its callbacks, say), and other threads may set it too.
[[nodiscard]] inline bool is_event(const ThreadWait& wait) {
  return wait.kind == WaitKind::wait_handle && wait.object.type != dotnet::bcl::kMutex;
}

}  // namespace mixstack
