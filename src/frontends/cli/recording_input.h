// Reads recordings from files, for commands.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "frontends/cli/program.h"
#include "mixstack/recording.h"

namespace mixstack::cli {

/// Reads a raw recording or folded stacks; "-": standard input. The error is the exit code; it was reported.
[[nodiscard]] tl::expected<Recording, ExitCode> read_recording_file(const std::string& path,
                                                                    const Environment& environment);

}  // namespace mixstack::cli
