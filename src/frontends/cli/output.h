// Output of commands: text to descriptors, files, and the exit code of what was not written.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "features/machine/explained_opening.h"
#include "frontends/cli/program.h"
#include "output/files/fd_output.h"
#include "output/files/written_file.h"

namespace mixstack::cli {

using files::FdOutput;

/// Says "mixstack: WORDS" on standard error, and answers the code.
ExitCode complain(const Environment& environment, const std::string& words, ExitCode code);
/// Reports why nothing was written, and answers the exit code for it.
ExitCode complain(const Environment& environment, const files::NotWritten& why);
/// Reports why a process cannot be looked at, and answers the exit code for it.
ExitCode complain(const Environment& environment, const machine::Refused& refused);

/// `files::write_output` to a file, or for "-" to standard output. Reports errors.
[[nodiscard]] ExitCode write_file(const std::string& path, bool is_text, const Environment& environment,
                                  const files::WriteOutput& write);
/// Writes an answer in text: to the file `path`, and says so, or where there is none (or "-") to standard output,
/// whatever that is. Reports errors.
[[nodiscard]] ExitCode write_answer_to(const std::string& path, const Environment& environment,
                                       const files::WriteOutput& write);

}  // namespace mixstack::cli
