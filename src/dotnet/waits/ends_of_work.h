// Threads whose work ends what others wait for, where no object says whose it is.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {

/// By handle or task: OS thread ids, in the target's pid namespace. It is set, or ends, when the work of all of them
/// has ended.
using EndsOfWork = std::unordered_map<Address, std::vector<std::uint64_t>>;

/// Whether a thread does such work, by its frames: callbacks of a timer, a worker of Parallel.ForEachAsync.
[[nodiscard]] bool may_end_work(std::span<const WaitFrame> frames);

/// A timer that is closed while callbacks of it run keeps what to set when the last of them has ended; the workers of
/// one call of Parallel.ForEachAsync share an object with the call's task. Which threads run them nothing records:
/// those objects are on their stacks, in the frame of a method of theirs or in a register that its callees keep.
[[nodiscard]] EndsOfWork ends_of_work(ManagedObjects& objects, std::span<const WaitingThread> threads);

}  // namespace mixstack::dotnet::objects
