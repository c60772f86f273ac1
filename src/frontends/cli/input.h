// Files that commands are given: recordings and moments.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "frontends/cli/program.h"
#include "mixstack/memory_moment.h"
#include "mixstack/recording.h"

namespace mixstack::cli {

/// Reads a raw recording or folded stacks; "-": standard input. The error is the exit code; it was reported.
[[nodiscard]] tl::expected<Recording, ExitCode> read_recording_file(const std::string& path,
                                                                    const Environment& environment);
/// The same for a moment (.mxm).
[[nodiscard]] tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path,
                                                                    const Environment& environment);

}  // namespace mixstack::cli
