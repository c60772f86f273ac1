// A sentence about native code without names in a recording.
#pragma once

#include <string>

#include "mixstack/recording.h"

namespace mixstack::report {

/// One line, without a line end: the number of places of native code without a name, of samples with such a frame, and
/// the modules with their shares of samples taken in that code itself. `file`: the argument for the suggested
/// 'mixstack symbols'. Empty: all have names.
[[nodiscard]] std::string nameless_words(const Recording& recording, const std::string& file);

}  // namespace mixstack::report
