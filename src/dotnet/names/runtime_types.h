// TypeHandles of the target: MethodTables and TypeDescs, decoded into type trees.
#pragma once

#include <cstdint>

#include "dotnet/names/runtime_modules.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::names {

/// The facts of a MethodTable that names need. Sources of all constants: src/coreclr/vm/methodtable.h and
/// docs/design/datacontracts/RuntimeTypeSystem.md.
struct MethodTableFacts {
  Address address = 0;
  std::uint32_t flags = 0, flags2 = 0;
  Address module = 0, canonical = 0, ee_class = 0, per_inst_info = 0;
  std::uint16_t num_virtuals = 0;

  [[nodiscard]] std::uint32_t type_def() const { return flags2 >> 8; }
  [[nodiscard]] bool has_component_size() const { return (flags & 0x80000000u) != 0; }
  [[nodiscard]] bool is_array() const { return (flags & 0x000c0000u) == 0x00080000u; }
  [[nodiscard]] bool is_vector() const { return (flags & 0x000f0000u) == 0x000a0000u; }
  [[nodiscard]] bool has_instantiation() const { return !has_component_size() && (flags & 0x30u) != 0; }
  [[nodiscard]] bool is_definition() const { return has_instantiation() && (flags & 0x30u) == 0x30u; }
};

/// Reads TypeHandles. Everything is bounded: depth and size by the tree, argument counts here. Borrows its parts.
class RuntimeTypes {
 public:
  static constexpr std::uint32_t kMaxArguments = 256;

  RuntimeTypes(RuntimeMemory memory, RuntimeModules& modules) : memory_(memory), modules_(modules) {}

  /// Reads a MethodTable and checks that its EEClass points back at its canonical MethodTable (`mismatch` if not). A
  /// MethodTable made for a layout of continuations gets the definition of its base,
  /// System.Runtime.CompilerServices.Continuation.
  [[nodiscard]] Result<MethodTableFacts> method_table(Address address) const;
  /// The type behind a TypeHandle; an `unknown` node when it cannot be read.
  [[nodiscard]] TypeIndex handle(TypeTree& tree, Address type_handle) const;
  [[nodiscard]] TypeIndex type(TypeTree& tree, const MethodTableFacts& facts) const;
  /// Type arguments of an instantiated type (element type of an array), in order.
  [[nodiscard]] std::vector<TypeIndex> class_arguments(TypeTree& tree, const MethodTableFacts& facts) const;
  /// `count` TypeHandles stored at `array`.
  [[nodiscard]] std::vector<TypeIndex> handles(TypeTree& tree, Address array, std::uint32_t count) const;

 private:
  [[nodiscard]] TypeIndex type_desc(TypeTree& tree, Address address) const;
  [[nodiscard]] TypeIndex type_variable(TypeTree& tree, Address address) const;
  [[nodiscard]] TypeIndex function_pointer(TypeTree& tree, Address address) const;
  [[nodiscard]] std::uint32_t rank(const MethodTableFacts& facts) const;
  [[nodiscard]] TypeIndex array(TypeTree& tree, const MethodTableFacts& facts) const;
  [[nodiscard]] TypeIndex named(TypeTree& tree, const MethodTableFacts& facts, const ModuleFacts& module) const;

  RuntimeMemory memory_;
  RuntimeModules& modules_;
};

}  // namespace mixstack::dotnet::names
