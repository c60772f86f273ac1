// Whether a pack tells the same as the process did.
#pragma once

#include <vector>

#include "mixstack/pack.h"

namespace mixstack::packing {

/// Threads that differ between two dumps: frames, names, lines, managed ids and names, exceptions.
[[nodiscard]] std::vector<ThreadId> different_threads(const ProcessDump& a, const ProcessDump& b);

}  // namespace mixstack::packing
