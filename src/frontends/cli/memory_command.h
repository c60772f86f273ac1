// `mixstack memory`.
#pragma once

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
