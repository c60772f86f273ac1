// Waits that no runtime knows of, and the stage of the whole process.
#pragma once

#include <optional>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"
#include "mixstack/target.h"
#include "process/peers/other_ends.h"

namespace mixstack::session {

/// Needs the names of all frames. `wanted` false: the stage alone.
void read_waits_outside(bool wanted, ProcessDump& dump, const Capture& capture, const MemoryReader& memory,
                        const std::vector<Region>& regions, std::optional<peers::OtherEnds>& ends);

}  // namespace mixstack::session
