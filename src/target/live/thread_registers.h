// The registers of a thread in a ptrace stop.
#pragma once

#include <sys/types.h>

#include "mixstack/result.h"
#include "target/register_set.h"

namespace mixstack::target {

/// The CPU this build traces: a live target has the host's.
[[nodiscard]] Arch traceable_arch();

/// Reads the general registers of a stopped thread; must be called by its tracer. Errors: `no_such_thread` when it is
/// not (or no longer) stopped, `unsupported_cpu` when it runs in another mode than the build's CPU.
[[nodiscard]] Result<RegisterSet> read_thread_registers(pid_t tid);

}  // namespace mixstack::target
