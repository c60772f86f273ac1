// `mixstack ps`: the .NET processes of this machine; and processes chosen by name.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_ps(const PsArguments& arguments, const Environment& environment);

/// The PIDs of the .NET processes called `name`, at least one. If there is none, reports it with the names of the
/// others, and returns the exit code.
[[nodiscard]] tl::expected<std::vector<std::uint32_t>, ExitCode> pids_called(const std::string& name,
                                                                             const Environment& environment);
/// The same, for commands that look at one process: reports where several are called so.
[[nodiscard]] tl::expected<std::uint32_t, ExitCode> pid_called(const std::string& name, const Environment& environment);

}  // namespace mixstack::cli
