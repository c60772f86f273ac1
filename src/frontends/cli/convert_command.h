// `mixstack convert` and `mixstack diff`.
#pragma once

#include "frontends/cli/convert_arguments.h"
#include "frontends/cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_convert(const ConvertArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_diff(const DiffArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
