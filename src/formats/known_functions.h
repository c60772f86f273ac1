// What a recording tells of functions that folded stacks have by name alone.
#pragma once

#include <optional>

#include "model/recording.h"

namespace mixstack::formats {

/// `recording` with what `other` knows of functions with the same names: kind, module, whether they are the program's.
/// Only functions whose kind nobody told get it (`read_folded`); their names may have a module before a `!` or "`", a
/// module or source line behind in parentheses, a line or an offset. Nothing: there is none to learn of.
[[nodiscard]] std::optional<Recording> with_known_functions(const Recording& recording, const Recording& other);

}  // namespace mixstack::formats
