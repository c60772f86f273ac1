// Why a core file could not be opened, in words.
#pragma once

#include <string>

#include "mixstack/result.h"

namespace mixstack::report {

/// One or more lines, the first saying what happened, the others what to do. Ends with a newline.
[[nodiscard]] std::string core_problem_text(const Error& error, const std::string& path);

}  // namespace mixstack::report
