// Remarks about a recording that was read from a file, in lines for the user ("mixstack: FILE: ...").
#pragma once

#include <string>

#include "mixstack/recording.h"

namespace mixstack::formats {

/// Says that a file is cut or damaged. Empty: it is whole. `path`: "-" is standard input.
[[nodiscard]] std::string cut_text(const Recording& recording, const std::string& path);
/// Says what reading folded stacks changed: divided counts, frames left out.
[[nodiscard]] std::string changed_text(const Recording& recording, const std::string& path);
/// Says how much native code has no name. Empty: all has one.
[[nodiscard]] std::string nameless_text(const Recording& recording, const std::string& path);

}  // namespace mixstack::formats
