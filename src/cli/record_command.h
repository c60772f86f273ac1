// `mixstack record`.
#pragma once

#include "cli/program.h"
#include "cli/record_arguments.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_record(const RecordArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
