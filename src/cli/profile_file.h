// A file that is made of recordings.
#pragma once

#include <functional>
#include <string>

#include "cli/program.h"
#include "report/writer.h"

namespace mixstack::cli {

/// There whole or not at all; a file of this name is replaced, unless `replace` is false. "-": standard output. A pipe
/// is given ten seconds to have a reader, or until a signal that ends a recording. What went wrong is said.
[[nodiscard]] ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                                          const std::function<void(report::Writer&)>& write, bool replace = true);

}  // namespace mixstack::cli
