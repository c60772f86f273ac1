// `mixstack dump`.
#pragma once

#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/program.h"
#include "report/errors.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_dump(const DumpArguments& arguments, const Environment& environment);

/// The exit code that a problem has.
[[nodiscard]] ExitCode exit_code_of(report::Problem problem);

}  // namespace mixstack::cli
