#include "dotnet/code/suspension.h"

#include <algorithm>

namespace mixstack::dotnet {

// The descriptor's global GCThread is g_pSuspensionThread (src/coreclr/vm/datadescriptor/datadescriptor.inc), which
// ThreadSuspend::SuspendAllThreads sets before it begins and RestartEE clears (src/coreclr/vm/threadsuspend.cpp).
std::optional<RuntimeSuspension> read_suspension(const RuntimeMemory& memory, std::span<const ManagedThread> threads) {
  const Global& global = memory.layouts().globals.gc_thread;
  if (!global) return std::nullopt;
  const auto by = memory.through(global);
  if (!by || *by == 0) return std::nullopt;
  const auto who =
      std::find_if(threads.begin(), threads.end(), [&](const ManagedThread& t) { return t.address == *by; });
  if (who == threads.end() || who->os_id == 0) return std::nullopt;
  RuntimeSuspension suspension{who->os_id, {}};
  for (const ManagedThread& t : threads)
    if (t.address != *by && t.os_id != 0 && t.cooperative && !t.is_dead()) suspension.waits_for.push_back(t.os_id);
  return suspension;
}

}  // namespace mixstack::dotnet
