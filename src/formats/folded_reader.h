// Folded stacks of other profilers as a recording, to be shown as all others are.
#pragma once

#include <string_view>

#include "mixstack/result.h"
#include "model/recording.h"

namespace mixstack::formats {

/// How the note begins that says it.
inline constexpr std::string_view kCountsDivided = "counts were divided";
/// And of stacks that are too deep for viewers.
inline constexpr std::string_view kCutInTheMiddle = "a part of the middle is left out of stacks";

/// Lines "outermost;...;innermost count". Suffixes that tell kinds (`_[k]` kernel, `_[j]` jitted, `_[i]` inlined) are
/// understood and taken off; of other frames the kind is not known. There is no time in it and no rate: one thread, all
/// at the beginning. Counts beyond 32 bits (nanoseconds) are divided by a power of ten, which a note says, as it does
/// when lines were no stacks. `name` is what the stacks are called ("app.folded"), in place of a process; empty: they
/// have none. Errors: `malformed` (no line is one; `value` is the number of lines), `limit_exceeded`.
[[nodiscard]] Result<Recording> read_folded(std::string_view text, std::string_view name = {});

}  // namespace mixstack::formats
