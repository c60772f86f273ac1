// `mixstack top`.
#pragma once

#include "frontends/cli/program.h"
#include "frontends/cli/top_arguments.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_top(const TopArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
