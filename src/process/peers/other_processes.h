// Other processes that must act before threads of this one can go on, and what they do.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::peers {

/// For a process of this machine: fills in `ThreadWait::processes`. Nothing is stopped: /proc says in which calls
/// their threads are. At most some few processes, of each some threads; what we may not look at is said to be so.
void look_at_other_processes(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory);

}  // namespace mixstack::peers
