// A file that is made of recordings.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "cli/program.h"
#include "report/writer.h"

namespace mixstack::cli {

using WriteProfile = std::function<void(report::Writer&)>;

/// There whole or not at all; a file of this name is replaced. "-": standard output. Pipes and devices are written to
/// (output_place.h), other links than such to them are refused. What went wrong is said.
[[nodiscard]] ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                                          const WriteProfile& write);

/// Likewise, and never in place of another one: where the name is taken, a number is put before `suffix`, the end of
/// the path. Answers the path it has.
[[nodiscard]] tl::expected<std::string, ExitCode> write_new_profile_file(const std::string& path,
                                                                         const std::string& suffix,
                                                                         const Environment& environment,
                                                                         const WriteProfile& write);

}  // namespace mixstack::cli
