// A user's ProcessState as a Target.
#pragma once

#include <memory>

#include "mixstack/target.h"
#include "stackwalker/procstate.h"

namespace mixstack::stackwalker {

/// Memory by readMem, registers by getRegValue, threads by getThreadIds. Mappings come from /proc when the state names
/// a process that is there, else from the program headers of its LibraryState's files. Borrows the state. Whatever the
/// state throws counts as failure. Errors: `unsupported_cpu`.
[[nodiscard]] Result<std::unique_ptr<Target>> open_state_target(Dyninst::Stackwalker::ProcessState& state);

}  // namespace mixstack::stackwalker
