// Locks in memory that processes share: which file they are in, and which process's thread holds them.
#pragma once

#include <optional>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::peers {

/// A pthread mutex that is locked.
struct SharedMutex {
  std::uint32_t owner = 0;  ///< thread id, of the owner's own pid namespace
  bool owner_died = false;
};
/// Nothing: what lies there is none, or is free.
[[nodiscard]] std::optional<SharedMutex> shared_mutex_at(const MemoryReader& memory, Address at);

/// Shared locks of a process of this machine. Threads that wait at a word of a file's shared mapping which is a locked
/// pthread mutex (of .NET those are its named mutexes): the holder is a thread of this process, or of another one that
/// has the file mapped; ids in such a word are those of the holder's own pid namespace.
void name_shared_locks(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory);

}  // namespace mixstack::peers
