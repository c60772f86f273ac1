// MethodDescs of the target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dotnet/names/runtime_types.h"

namespace mixstack::dotnet::names {

/// MethodClassification (src/coreclr/vm/method.hpp), low three bits of MethodDesc.Flags.
enum class MethodClass : std::uint8_t { il, f_call, p_invoke, ee_impl, array, instantiated, com_interop, dynamic };

/// The facts that a MethodDesc has about itself. Nothing here is text.
struct MethodDescFacts {
  Address address = 0;
  Address method_table = 0;
  MethodClass kind = MethodClass::il;
  std::uint16_t slot = 0;
  std::uint32_t rid = 0;  ///< row in the MethodDef table of the type's module
  // instantiated
  Address instantiation = 0;
  std::uint16_t argument_count = 0;
  bool is_generic_definition = false, is_shared = false;
  // array, dynamic, ee_impl
  Address signature = 0;
  std::uint32_t signature_size = 0;
  std::uint32_t extended_flags = 0;
  Address name = 0;
  Address stub_target = 0;  ///< method an IL stub was first made for; 0: none or not known

  /// DynamicMethodDesc::FlagIsLCGMethod and FlagIsILStub.
  [[nodiscard]] bool is_lightweight() const { return (extended_flags & 0x4000) != 0; }
  [[nodiscard]] bool is_il_stub() const { return (extended_flags & 0x8000) != 0; }
  friend bool operator==(const MethodDescFacts&, const MethodDescFacts&) = default;
};

/// Reads a MethodDesc and its chunk. Errors: `unreadable_memory`, `field_unavailable`, `malformed` (misaligned, no
/// MethodTable).
[[nodiscard]] Result<MethodDescFacts> read_method_desc(const RuntimeMemory& memory, Address address);

}  // namespace mixstack::dotnet::names
