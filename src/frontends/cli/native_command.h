// `mixstack memory --native`.
#pragma once

#include "frontends/cli/dump_command.h"
#include "frontends/cli/memory_arguments.h"

namespace mixstack::cli {

/// Ctrl-C ends the time; what was seen until then is reported.
[[nodiscard]] ExitCode run_native(const MemoryArguments& arguments, OpenedTarget& opened,
                                  const Environment& environment);

}  // namespace mixstack::cli
