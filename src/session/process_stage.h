// Where a process stands that does not run its Main yet, or any more.
#pragma once

#include "mixstack/dump.h"

namespace mixstack::session {

/// By what stands where Main will on the first thread's stack, by the state that the runtime gives that thread when
/// Main has returned, and by the methods that end a process. With the names of the stacks, and of threads what the
/// runtime says.
void find_stage(ProcessDump& dump);

}  // namespace mixstack::session
