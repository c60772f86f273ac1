// `mixstack record`.
#pragma once

#include "cli/program.h"
#include "cli/record_arguments.h"

namespace mixstack::cli {

/// An ExitCode; where all went well, the exit status of a program that it started and that ended.
[[nodiscard]] int run_record(const RecordArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
