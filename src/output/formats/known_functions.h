// Completes functions of folded stacks, known by name alone, from another recording.
#pragma once

#include <optional>

#include "mixstack/recording.h"

namespace mixstack::formats {

/// Copies kind, module and `is_user` of functions from `other` to functions of the same name in `recording`. Only
/// functions of unknown kind and module (`read_folded`) change; their names may have a module before a `!` or "`", a
/// module or source line behind in parentheses, a line or an offset. Nothing: `recording` has no such function.
[[nodiscard]] std::optional<Recording> with_known_functions(const Recording& recording, const Recording& other);

}  // namespace mixstack::formats
