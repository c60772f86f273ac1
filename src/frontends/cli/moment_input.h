// Reads moments (.mxm) for commands.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "frontends/cli/program.h"
#include "mixstack/memory_moment.h"

namespace mixstack::cli {

/// Whether a path is a file that begins like a moment.
[[nodiscard]] bool is_moment_file(const std::string& path);
/// The error is the exit code; it was reported.
[[nodiscard]] tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path,
                                                                    const Environment& environment);

}  // namespace mixstack::cli
