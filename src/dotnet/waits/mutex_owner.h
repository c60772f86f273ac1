// The owner of the System.Threading.Mutex that a thread waits for, as the runtime's platform layer keeps it.
#pragma once

#include <cstdint>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::objects {

/// The OS thread id, in the target's pid namespace, of the thread that holds the one object that `waiter` (such an id,
/// too) waits for in WaitForSingleObject, at the futex `word` of its own condition variable; 0: nobody, the object has
/// no owner, or the records do not prove it. Nothing tells where these are: they are found behind that word, or (musl)
/// through the stack above it, and believed where each points back at the one before it. Bounded; of a running process
/// `memory` may change meanwhile.
[[nodiscard]] std::uint64_t mutex_owner(const MemoryReader& memory, Address word, std::uint64_t waiter);

}  // namespace mixstack::dotnet::objects
