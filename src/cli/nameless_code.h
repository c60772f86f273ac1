// What a recording has no names for, in words.
#pragma once

#include <string>

#include "model/recording.h"

namespace mixstack::cli {

/// One line, without an end: how many places of native code have no name, in the stacks of how many samples, and in
/// which modules samples were taken in that code itself, with their shares of all. `file` is what 'mixstack symbols' is
/// to be asked about. Empty: all have names.
[[nodiscard]] std::string nameless_words(const Recording& recording, const std::string& file);

}  // namespace mixstack::cli
