// Whether an address is what it is said to be: cheap round trips through the runtime's structures.
#pragma once

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// MethodClassification of src/coreclr/vm/method.hpp (low bits of MethodDesc.Flags).
enum class MethodClass : std::uint8_t { il, fcall, pinvoke, ee_impl, array, instantiated, com_interop, dynamic };

/// The MethodTable of a MethodDesc through its chunk. Checks nothing.
[[nodiscard]] Result<Address> method_table_of(const RuntimeMemory& memory, Address method_desc);
/// The EEClass of a MethodTable, through the canonical one where it is shared; `mismatch` unless that EEClass points
/// back at the canonical MethodTable.
[[nodiscard]] Result<Address> ee_class_of(const RuntimeMemory& memory, Address method_table);
/// Whether `address` is a MethodDesc: aligned, its chunk readable, its MethodTable and EEClass agreeing.
[[nodiscard]] bool is_method_desc(const RuntimeMemory& memory, Address address);
/// Whether a type is one of those of continuations: made at run time, one for each layout, they share one EEClass,
/// which points back at none of them.
[[nodiscard]] bool is_continuation_type(const RuntimeMemory& memory, Address method_table, Address ee_class);
/// Whether a method is code that the runtime made between a method that it suspends itself and one that returns a Task
/// (.NET 11). It has the name and the token of the method that it stands for.
[[nodiscard]] bool is_async_thunk(const RuntimeMemory& memory, Address method_desc);
[[nodiscard]] Result<MethodClass> method_class(const RuntimeMemory& memory, Address method_desc);

/// The MethodDesc in a slot of a type: a walk over the chunks of its class and its parents' (bounded). `not_found`
/// when no method has that slot.
/// Source: RuntimeTypeSystem.md, "GetMethodDescForSlot".
[[nodiscard]] Result<Address> method_for_slot(const RuntimeMemory& memory, Address method_table, std::uint32_t slot);

/// Whether a method is an IL stub that gets the real method as a hidden argument: P/Invoke stubs that are neither
/// delegates' nor calli's, and CLR-to-COM stubs (DynamicMethodDesc::HasMDContextArg in src/coreclr/vm/method.hpp).
[[nodiscard]] bool has_method_context_argument(const RuntimeMemory& memory, Address method_desc);

}  // namespace mixstack::dotnet
