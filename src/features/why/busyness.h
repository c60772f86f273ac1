// The code that a process which is not stuck is busy with, from samples of its stacks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "mixstack/busy.h"
#include "mixstack/recording.h"

namespace mixstack::why {

/// Functions that are reported.
inline constexpr std::size_t kMostBusyFunctions = 12;

/// The kind of code that a stack runs, by its functions alone: `frames` are numbers of the recording, innermost first.
/// In a runtime without symbols the collector cannot be distinguished from the rest: both are `runtime`.
[[nodiscard]] BusyKind kind_of(const Recording& recording, std::span<const std::uint32_t> frames);

/// Counts the samples of running threads. `suspended_by`: for which share of the time (0 to 1) a thread stopped the
/// runtime's others; that much of its time in the runtime counts as collection. `pausing`: numbers of frames whose code
/// pauses, as loops that spin do. The caller fills in processor time and notes.
[[nodiscard]] Busyness busyness_of(const Recording& recording, const std::map<std::uint32_t, double>& suspended_by,
                                   const std::set<std::uint32_t>& pausing = {});

}  // namespace mixstack::why
