// Code that the runtime frees while mixstack looks at it: dynamic methods, methods of unloadable assemblies.
#pragma once

#include "mixstack/dump.h"
#include "session/clr_runtime.h"

namespace mixstack::session {

/// Marks the frames of a live process whose code may have been freed, and its place given to another method, between
/// the stop and the end of naming: such a frame may have the wrong name, and its caller may have been found by another
/// method's unwind codes. Both become `inferred`, the frame gets a note.
///
/// As long as a method is on a stack it is not freed, and freeing is the work of finalizers alone. So there is nothing
/// to doubt when the finalizer thread has not run since the stop, nor where a thread's stack from its innermost frame
/// to the one in question is still what was copied. `now` reads the target as it is, past every cache.
void mark_freed_code(ProcessDump& dump, const Capture& capture, ClrRuntime& runtime, const MemoryReader& now);

}  // namespace mixstack::session
