// The hash map from entry points of precompiled code to the methods prepared so far.
#pragma once

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// The MethodDesc of the precompiled method that starts at `entry`, by the HashMap at `map`. `not_found` when that
/// method was not prepared (or nothing starts there), `malformed` for impossible bucket counts, `unreadable_memory`.
/// Source: HashMapLookup.cs and src/coreclr/vm/hash.{h,cpp} in dotnet/runtime.
[[nodiscard]] Result<Address> method_at_entry_point(const RuntimeMemory& memory, Address map, Address entry);

/// Whether the map at `map` holds methods, and nothing but methods whose entry points lie in the image, in as many
/// buckets as are looked at. `unreadable_memory`: it cannot be told.
[[nodiscard]] Result<bool> holds_methods(const RuntimeMemory& memory, Address map, Address image_base);

}  // namespace mixstack::dotnet
