// Recordings that commands read.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/program.h"
#include "model/recording.h"

namespace mixstack::cli {

/// A raw recording or folded stacks; "-": standard input. What is wrong was said: the code to end with.
[[nodiscard]] tl::expected<Recording, ExitCode> read_recording_file(const std::string& path,
                                                                    const Environment& environment);

}  // namespace mixstack::cli
