// How much a thread has allocated since it began, as the runtime counts it.
#pragma once

#include <cstdint>
#include <optional>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// Bytes of objects that the thread has made, as GC.GetAllocatedBytesForCurrentThread tells it; nothing where the
/// runtime does not describe its counts (before .NET 11), or they cannot be right.
[[nodiscard]] std::optional<std::uint64_t> allocated_bytes(const RuntimeMemory& memory, Address thread);

}  // namespace mixstack::dotnet
