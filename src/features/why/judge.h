// Verdicts: what is wrong in a process, most certain first.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// Threads that one thread must hold up before that is worth a verdict of its own.
inline constexpr std::uint32_t kManyWaiters = 3;

/// From the waits of a dump (`DumpOptions::waits`). Empty: nothing is stuck, as far as waits tell.
[[nodiscard]] std::vector<Verdict> judge(const ProcessDump& dump);
/// Adds verdicts from a later dump of the same process with its heap (`DumpOptions::heap`): cycles of async methods,
/// and threads that wait for methods which were posted to them.
void add_from_heap(const ProcessDump& dump, std::vector<Verdict>& verdicts);

}  // namespace mixstack::why
