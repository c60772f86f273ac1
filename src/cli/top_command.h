// `mixstack top`.
#pragma once

#include "cli/program.h"
#include "cli/top_arguments.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_top(const TopArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
