// Waits outside any runtime, by system calls and the C library's own records.
#pragma once

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// Fills in `ThreadDump::wait` where no runtime did. For every thread (glibc): pthread mutexes with their owner,
/// read-write locks with their writer, joins. For threads with managed code, and for all if there is no runtime:
/// sockets, pipes, files, polls, sleeps and child processes (a runtime's own threads always wait for something). Needs
/// the threads' facts or, in a core, their registers, and the names of frames. `memory` as it is now.
void read_native_waits(ProcessDump& dump, const MemoryReader& memory);

}  // namespace mixstack::session
