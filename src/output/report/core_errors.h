// Why a core file could not be opened, in words.
#pragma once

#include <string>
#include <string_view>

#include "mixstack/result.h"

namespace mixstack::report {

/// For programs, a literal: "no_core", "no_writer", "newer_pack".
[[nodiscard]] std::string_view core_problem_name(const Error& error);

/// One or more lines, the first saying what happened, the others what to do. Ends with a newline.
[[nodiscard]] std::string core_problem_text(const Error& error, const std::string& path);

}  // namespace mixstack::report
