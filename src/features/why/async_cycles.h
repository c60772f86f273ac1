// Threads that wait for async methods which only they could go on with.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// A thread with a synchronization context waits for a method that has what it awaited, does not run and is not queued
/// in the thread pool: its rest was posted to a context, the thread's own as it seems, which is why this is possible
/// and no more. Cycles through threads that run methods are in the wait graph.
void add_async_cycles(const ProcessDump& dump, std::vector<Verdict>& verdicts);

}  // namespace mixstack::why
