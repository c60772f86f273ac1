// Locks in memory that processes share: which file they are in, and which process's thread holds them.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// Shared locks of a process of this machine. Threads that wait at a word of a file's shared mapping which is a locked
/// pthread mutex (of .NET those are its named mutexes): the holder is a thread of this process, or of another one that
/// has the file mapped; ids in such a word are those of the holder's own pid namespace.
void name_shared_locks(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory);

}  // namespace mixstack::session
