// Shared generic code and the exact instantiations it runs for: proof that one belongs to the other.
#pragma once

#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/gcinfo/gc_info.h"
#include "mixstack/frame.h"

namespace mixstack::dotnet {

/// The instantiations that share the code of a MethodDesc.
enum class SharedBy : std::uint8_t {
  nobody,   ///< one instantiation, or not generic, or it cannot be told
  types,    ///< instantiations of its class
  methods,  ///< instantiations of the method
};
[[nodiscard]] SharedBy shared_by(const RuntimeMemory& memory, Address method_desc);

/// Whether a method is static (mdfStatic in src/coreclr/vm/method.hpp).
[[nodiscard]] bool is_static(const RuntimeMemory& memory, Address method_desc);

/// Whether `this` of an instance method is an object: its class is no value type. (`this` of a value type is an
/// address.)
[[nodiscard]] bool has_objects(const RuntimeMemory& memory, Address method_desc);

/// The exact instantiation of `shared`, a method of shared code, that `found` is: the value read where the code keeps
/// its context. `found` of kind this_object: the MethodTable of the object. Answers nothing unless `found` is proved: a
/// type whose canonical form is the method's own class, for objects also one of its base types, or a MethodDesc of the
/// same method with the same number of arguments that are shared alike.
/// Sources: Generics::GetExactInstantiationsOfMethodAndItsClassFromCallInformation in src/coreclr/vm/generics.cpp,
/// methodtable.h, method.hpp.
[[nodiscard]] GenericContext prove_context(const RuntimeMemory& memory, Address shared, GenericContextKind kind,
                                           Address found);

}  // namespace mixstack::dotnet
