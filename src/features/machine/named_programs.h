// Processes chosen by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/machine.h"

namespace mixstack::machine {

/// PIDs of the .NET processes of this name.
[[nodiscard]] std::vector<std::uint32_t> pids_called(const std::string& name, const RunningPrograms& found);
/// The same, looked up now; empty where /proc cannot be read.
[[nodiscard]] std::vector<std::uint32_t> pids_called(const std::string& name);

/// "no .NET process is called 'x'; there are y and z." and what could not be looked into; ends with a newline.
[[nodiscard]] std::string nobody_called_text(const std::string& name, const RunningPrograms& found);

/// Why there is no list of processes; ends with a newline.
[[nodiscard]] std::string no_list_text(const Error& error);
/// The same for programs, as names of problems: "foreign_proc", "no_proc".
[[nodiscard]] std::string_view no_list_name(const Error& error);

}  // namespace mixstack::machine
