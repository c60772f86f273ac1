// `mixstack doctor`: what would stop a dump, a recording or a capture without a stop here, and what to do about it.
#pragma once

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_doctor(const DoctorArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
