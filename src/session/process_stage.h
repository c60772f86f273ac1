// Where a process stands that does not run its Main any more.
#pragma once

#include "mixstack/dump.h"

namespace mixstack::session {

/// By the state that the runtime gives its first thread when Main has returned, and by the methods that end a process.
/// With the names of the stacks, and of threads what the runtime says.
void find_stage(ProcessDump& dump);

}  // namespace mixstack::session
