// `mixstack why`.
#pragma once

#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_why(const WhyArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
