// A file that is made of recordings.
#pragma once

#include <functional>
#include <string>

#include "cli/program.h"
#include "report/writer.h"

namespace mixstack::cli {

/// There whole or not at all; a file of this name is replaced. "-": standard output. What went wrong is said.
[[nodiscard]] ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                                          const std::function<void(report::Writer&)>& write);

}  // namespace mixstack::cli
