// Parameters and local variables of methods that the runtime has suspended itself: words of their continuations (.NET
// 11).
#pragma once

#include <vector>

#include "dotnet/async/runtime_async.h"
#include "dotnet/heap/values.h"

namespace mixstack::dotnet::objects {

/// Values that the method needs when it goes on, at most `most`: `this`, parameters and, where the assembly's PDB is on
/// this machine, named locals. Empty where the code has no such information (precompiled methods), or the method is not
/// suspended where its continuation says.
[[nodiscard]] std::vector<ProgramValue> suspended_values(ManagedObjects& objects, Delegates& delegates, Values& values,
                                                         const SuspendedMethod& method, std::size_t most);

}  // namespace mixstack::dotnet::objects
