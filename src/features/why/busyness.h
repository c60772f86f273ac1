// What a process that is not stuck is busy with, from samples of its stacks.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "base/words/recording.h"
#include "mixstack/busy.h"

namespace mixstack::why {

/// Functions that are told.
inline constexpr std::size_t kMostBusyFunctions = 12;

/// In whose code a stack stands, by its functions alone: `frames` are numbers of the recording, innermost first. A
/// runtime without symbols does not tell its collector from the rest of it: both are `runtime`.
[[nodiscard]] BusyKind kind_of(const Recording& recording, std::span<const std::uint32_t> frames);

/// Of the samples of threads that ran. `suspended_by`: for which share of the time (0 to 1) a thread stopped the
/// runtime's others; as much of what it spent in the runtime is its collections. Processor time and notes are the
/// caller's to fill in.
[[nodiscard]] Busyness busyness_of(const Recording& recording, const std::map<std::uint32_t, double>& suspended_by);

}  // namespace mixstack::why
