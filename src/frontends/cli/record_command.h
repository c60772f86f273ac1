// `mixstack record`.
#pragma once

#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"

namespace mixstack::cli {

/// Returns an ExitCode; on success, the exit status of the program that it started, if that has ended.
[[nodiscard]] int run_record(const RecordArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
