// Waits outside any runtime, by system calls and the C library's own records.
#pragma once

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// Fills in `ThreadDump::wait` where no runtime told of one: pthread mutexes with who holds them, read-write locks with
/// who writes, and threads that are joined (glibc, of every thread); sockets, pipes, files, polls, sleeps and child
/// processes (of threads with managed code, and of every thread where there is no runtime: a runtime's own threads
/// always wait for something). Needs the facts of the threads or, of a core, their registers, and the names of frames.
/// `memory` as it is now.
void read_native_waits(ProcessDump& dump, const MemoryReader& memory);

}  // namespace mixstack::session
