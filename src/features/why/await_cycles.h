// Async methods that await each other.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// Each cycle that chains of async methods end in, once, with the threads that wait for it. It is certain where each
/// await is proved and none ends by itself. Those that `verdicts` has of another reading are replaced.
void add_await_cycles(const ProcessDump& dump, std::vector<Verdict>& verdicts);

/// Whether two verdicts are of cycles of the same methods: objects may have moved in between.
[[nodiscard]] bool are_same_await_cycles(const Verdict& a, const Verdict& b);

}  // namespace mixstack::why
