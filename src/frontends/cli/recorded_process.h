// Facts and error messages about processes, for commands that record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features/record/recordings.h"
#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"

namespace mixstack::cli {

/// Options of a recorder by the arguments.
[[nodiscard]] record::RecorderOptions recorder_options(const RecordArguments& arguments);

/// The same for a recording of several processes, which follows those that they start. Borrows nothing.
[[nodiscard]] record::RecordingsOptions recordings_options(const RecordArguments& arguments,
                                                           const Environment& environment);

/// Reports why a process cannot be recorded, and returns the exit code.
ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid);
/// The same for a recorder that could not be opened.
ExitCode complain_of(const Environment& environment, const record::NotOpened& fault, std::uint32_t pid);

}  // namespace mixstack::cli
