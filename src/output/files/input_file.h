// Whole files that a command is given.
#pragma once

#include <string>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::files {

/// At most 1 GiB; "-": standard input. Errors: those of opening, `unsupported` (no regular file), `limit_exceeded`.
[[nodiscard]] Result<std::vector<char>> read_input_file(const std::string& path);

}  // namespace mixstack::files
