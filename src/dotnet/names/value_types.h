// Types of parameters and fields, for readers of their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dotnet/names/csharp_method.h"
#include "dotnet/names/portable_pdb.h"
#include "dotnet/names/runtime_method.h"

namespace mixstack::dotnet::names {

enum class ValueKind : std::uint8_t {
  unknown,
  primitive,  ///< `element` names it; strings and objects are references
  reference,
  pointer,    ///< no reference of the garbage collector's: pointers, function pointers
  structure,  ///< enums, too
  named,      ///< a reference or a structure: only the type itself tells
};

/// A type. To be looked up by its handle, else by its name in one of the assemblies.
struct ValueType {
  ValueKind kind = ValueKind::unknown;
  ElementType element = ElementType::end;
  bool is_by_ref = false;  ///< the value is the address of one: all else is of what it refers to
  bool is_array = false;
  bool is_nullable = false;             ///< System.Nullable of the primitive `element`
  bool is_generic = false;              ///< an instance: `name` is that of its definition, `handle` its own
  std::string text;                     ///< as C# writes it: "ref int", "List<string>"
  std::string name;                     ///< as reflection writes it: `System.Guid`; empty: none that can be looked up
  std::vector<std::string> assemblies;  ///< simple names
  Address handle = 0;                   ///< TypeHandle; 0: not known
};

struct ParameterType {
  std::string name;  ///< empty: the metadata has none
  ValueType type;
};

struct MethodParameters {
  Address method_table = 0;  ///< of the type that declares the method
  bool has_this = false;
  std::vector<ParameterType> list;  ///< without `this`
};

/// Reads the types of a runtime's methods and their parameters. Borrows its parts. Not thread-safe.
class ValueTypes {
 public:
  static constexpr std::size_t kMostParameters = 256;  ///< and locals

  ValueTypes(const RuntimeMemory& memory, RuntimeModules& modules, const RuntimeTypes& types)
      : memory_(memory), modules_(modules), types_(types) {}

  /// Errors: those of reading; `not_found`: the method has no metadata (stubs, dynamic methods); `mismatch`.
  [[nodiscard]] Result<MethodParameters> parameters(Address method_desc);
  /// Local variables at a place of a method's IL, by their slots; a slot without a name valid there has none. Errors as
  /// above; `not_found`: its PDB names none.
  [[nodiscard]] Result<std::vector<ParameterType>> locals(Address method_desc, const PortablePdb& pdb,
                                                          std::uint32_t il);
  /// The Module of a method that has metadata. Errors as above.
  [[nodiscard]] Result<Address> module_of(Address method_desc);
  /// The type of a field that a type itself declares, by its name. Errors as above.
  [[nodiscard]] Result<ValueType> field(Address method_table, std::string_view name);

 private:
  struct Method;
  [[nodiscard]] Result<Method> method(Address method_desc);
  [[nodiscard]] ValueType describe(TypeIndex type, const MethodContext& context);
  void describe_nullable(const TypeNode& instance, ValueType& out) const;
  void describe_named(TypeIndex type, const MethodContext& context, ValueType& out);

  RuntimeMemory memory_;
  RuntimeModules& modules_;
  const RuntimeTypes& types_;
  TypeTree tree_;
};

}  // namespace mixstack::dotnet::names
