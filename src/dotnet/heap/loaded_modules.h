// The modules of all assemblies that a runtime has loaded.
#pragma once

#include <cstddef>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

inline constexpr std::size_t kMostModules = 4096;

/// In the order of the runtime's list, each of an assembly that points back at it; at most kMostModules.
[[nodiscard]] std::vector<Address> loaded_modules(const RuntimeMemory& memory);

}  // namespace mixstack::dotnet::objects
