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
/// Whether the error means that the process has ended, is ending, or runs another program now.
[[nodiscard]] bool has_gone(const Error& error, std::uint32_t pid);
/// Whether the number is the TID of a thread other than the main thread.
[[nodiscard]] bool is_thread(std::uint32_t pid);
/// PIDs of the .NET processes of this name.
[[nodiscard]] std::vector<std::uint32_t> pids_called(const std::string& name);

}  // namespace mixstack::cli
