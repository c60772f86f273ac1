// Threads that do not get on because of another process.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// A cycle over two processes is possible, no more: another thread of either may end it. Two that wait for each
/// other's words alone are none, for whoever serves others does so. A process that is stopped may go on at any time.
void add_processes(const ProcessDump& dump, std::vector<Verdict>& verdicts);
/// Whether the processes that a thread waits for are the same at both looks, and have not run as far as that is known.
[[nodiscard]] bool are_same_processes(const ThreadWait& first, const ThreadWait& second);

}  // namespace mixstack::why
