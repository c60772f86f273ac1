// A user's ProcessState as a Target.
#pragma once

#include <memory>

#include "mixstack/target.h"
#include "stackwalker/procstate.h"

namespace mixstack::stackwalker {

/// Memory by readMem, registers by getRegValue, threads by getThreadIds. Mappings come from /proc if the state has the
/// pid of a process here, else from the program headers of its LibraryState's files. Borrows the state. An exception of
/// the state counts as failure. Errors: `unsupported_cpu`; `internal` if the state throws here.
[[nodiscard]] Result<std::unique_ptr<Target>> open_state_target(Dyninst::Stackwalker::ProcessState& state);

}  // namespace mixstack::stackwalker
