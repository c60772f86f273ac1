// Writes files made of recordings.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "frontends/cli/program.h"
#include "output/report/writer.h"

namespace mixstack::cli {

using WriteProfile = std::function<void(report::Writer&)>;

/// Writes a whole file or none; an existing file is replaced. "-": standard output. Pipes and devices are written in
/// place (output_place.h), and links that lead elsewhere are refused. Reports errors.
[[nodiscard]] ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                                          const WriteProfile& write);

/// Writes an answer in text: to the file `path`, and says so, or where there is none (or "-") to standard output,
/// whatever that is. Reports errors.
[[nodiscard]] ExitCode write_answer_to(const std::string& path, const Environment& environment,
                                       const WriteProfile& write);

/// As `write_profile_file`, but never replaces a file: if the name is taken, a number is inserted before `suffix`, the
/// end of the path. Returns the actual path.
[[nodiscard]] tl::expected<std::string, ExitCode> write_new_profile_file(const std::string& path,
                                                                         const std::string& suffix,
                                                                         const Environment& environment,
                                                                         const WriteProfile& write);

}  // namespace mixstack::cli
