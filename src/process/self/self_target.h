// Our own process as a Target.
#pragma once

#include <memory>

#include "mixstack/target.h"

namespace mixstack::process {

/// Opens the own process. Nothing is installed, started or changed by this.
///
/// `capture` copies the calling thread itself; its stack shows the capture. Threads that block the signal or do not
/// answer within the request's `stop_timeout` are reported with `thread_not_stopped`. Captures by signal, and of the
/// calling thread alone, are `one_by_one`: the runtime's roots are read after the stacks. Those by helper are as
/// consistent as those of a live process.
///
/// One capture at a time. A child made by fork must open its own. Errors: unsupported_cpu, invalid_argument (no usable
/// signal number), io_error.
[[nodiscard]] Result<std::unique_ptr<Target>> open_self(const SelfOptions& options = {});

}  // namespace mixstack::process
