// `mixstack view`: a recording in the browser.
#pragma once

#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"
#include "frontends/cli/view_arguments.h"

namespace mixstack::cli {

/// Serves the page on a loopback port until a signal ends it. A rewritten file is shown again.
[[nodiscard]] ExitCode run_view(const ViewArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
