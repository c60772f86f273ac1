// C# names of NativeAOT's types.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "dotnet/heap/aot_method_table.h"
#include "dotnet/names/aot_types.h"

namespace mixstack::dotnet::objects {

/// Names of types by their MethodTables, however a runtime keeps them. Never empty.
class TypeNames {
 public:
  TypeNames() = default;
  virtual ~TypeNames() = default;
  TypeNames(const TypeNames&) = delete;
  TypeNames& operator=(const TypeNames&) = delete;
  [[nodiscard]] virtual std::string name(Address method_table) = 0;
};

/// Arrays and generic instances by what their MethodTables refer to, all else by the map of types. Borrows the memory.
class AotTypeNames final : public TypeNames {
 public:
  /// Says something of a type without a name: its symbol, or where it lies.
  using Place = std::function<std::string(Address method_table)>;

  AotTypeNames(RuntimeMemory memory, std::optional<names::AotTypes> types, Place place)
      : memory_(memory), types_(std::move(types)), place_(std::move(place)) {}
  [[nodiscard]] std::string name(Address method_table) override;

 private:
  /// `parts`: types that were read for one name.
  [[nodiscard]] std::string part(Address method_table, unsigned depth, unsigned& parts);

  RuntimeMemory memory_;
  std::optional<names::AotTypes> types_;
  Place place_;
};

}  // namespace mixstack::dotnet::objects
