// Reads folded stacks of other profilers as a recording.
#pragma once

#include <string_view>

#include "mixstack/recording.h"
#include "mixstack/result.h"

namespace mixstack::formats {

/// Beginning of the note about divided counts.
inline constexpr std::string_view kCountsDivided = "counts were divided";
/// Beginning of the note about stacks that are too deep for viewers.
inline constexpr std::string_view kCutInTheMiddle = "a part of the middle is left out of stacks";

/// Lines "outermost;...;innermost count". The suffixes `_[k]` (kernel), `_[j]` (jitted) and `_[i]` (inlined) are
/// removed and set the kind; the kind of other frames is unknown. Folded stacks have no times and rates: all samples
/// are of one thread at time 0. If the sum of the counts exceeds 32 bits (nanoseconds), all are divided by a power of
/// ten. Notes tell the division, and the number of lines that were no stacks. `name` ("app.folded") takes the place of
/// a process name. Errors: `malformed` (half of the lines or more are no stacks; `value` is the number of lines),
/// `limit_exceeded`.
[[nodiscard]] Result<Recording> read_folded(std::string_view text, std::string_view name = {});

}  // namespace mixstack::formats
