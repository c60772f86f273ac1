// Other processes that threads of this one are blocked by, and what these do.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// For a process of this machine: fills in `ThreadWait::processes`. Nothing is stopped: /proc shows the system calls
/// that their threads are in. At most eight processes and 64 threads of each; a process that we may not look at is
/// marked so.
void look_at_other_processes(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory);

}  // namespace mixstack::session
