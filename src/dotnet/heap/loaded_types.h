// Types that the runtime has loaded, and their fields, by name: no offset of a managed type is written down anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::objects {

/// Where a field lies.
struct FieldPlace {
  /// For instance fields, bytes after the object's MethodTable word, or from the beginning of a struct that lies in
  /// something else. For statics, bytes from where the statics of that kind begin.
  std::uint32_t offset = 0;
  names::ElementType element = names::ElementType::end;  ///< class_ for every reference
  bool is_static = false, is_thread_static = false;
  Address introduced_by = 0;  ///< canonical MethodTable of the type that declares it
};

/// Facts of a MethodTable. They stay true: a type that cannot be unloaded never changes.
struct TypeFacts {
  Address method_table = 0, canonical = 0, ee_class = 0;
  Address parent = 0;  ///< 0: none
  Address module = 0;
  Address instantiation = 0;  ///< the element's TypeHandle of an array, else the table of dictionaries; 0: none
  Address auxiliary = 0;      ///< MethodTableAuxiliaryData
  std::uint32_t type_def = 0, base_size = 0;
  std::uint16_t component_size = 0;  ///< bytes of an element of an array, or of a string's unit
  bool is_array = false, is_value = false, is_interface = false;
  std::string name;  ///< as reflection writes it, without arguments: System.Threading.Tasks.Task`1; empty for arrays
  std::string assembly;
};

/// Finds types. Everything read is checked against something else: a MethodTable by its EEClass, a field list by its
/// types and by the metadata. Not thread-safe. Borrows the names and what is behind the memory.
class LoadedTypes {
 public:
  static constexpr std::size_t kMaxTypes = 1 << 16;  ///< kept; beyond it the cache starts anew
  static constexpr std::uint32_t kMaxFields = 4096;  ///< of one type
  static constexpr unsigned kMaxParents = 64;
  static constexpr std::size_t kMaxInstances = 1 << 18;  ///< generic ones of a module that are looked at

  LoadedTypes(RuntimeMemory memory, names::MethodNames& names) : memory_(memory), names_(names) {}

  /// The type of a MethodTable, null where there is none. Valid until the cache starts anew.
  [[nodiscard]] const TypeFacts* at(Address method_table);
  /// The MethodTable of a type that is no generic instance, by its assembly's simple name and its own. 0: it is not
  /// loaded, so that no object of it exists, or it cannot be found.
  [[nodiscard]] Address find(std::string_view assembly, std::string_view name);
  /// The MethodTables of generic instances that a module keeps, as its table has them: none is checked. At most
  /// kMaxInstances; those that can be read.
  [[nodiscard]] std::vector<Address> generic_instances(Address module) const;
  /// A field of the type or of those it derives from. Nothing: there is none, or the type cannot be read.
  [[nodiscard]] std::optional<FieldPlace> field(Address method_table, std::string_view name);
  /// Whether the type itself, or one that it derives from, has this name, in whatever assembly.
  [[nodiscard]] bool is_a(Address method_table, std::string_view name);
  /// The same, but only for types of the core library: others may have types of that name.
  [[nodiscard]] bool is_core(Address method_table, std::string_view name);
  /// Names and places of the fields that a type itself declares, in the order of the metadata.
  struct NamedField {
    std::string name;
    FieldPlace place;
  };
  [[nodiscard]] const std::vector<NamedField>& own_fields(Address method_table);
  /// C# name with arguments: `System.Collections.Generic.List<int>`. Empty: not known.
  [[nodiscard]] std::string csharp_name(Address method_table);
  /// TypeHandles of the type's arguments, in order.
  [[nodiscard]] std::vector<Address> arguments(Address method_table);
  /// Modules of all assemblies.
  [[nodiscard]] const std::vector<Address>& modules();

  [[nodiscard]] const RuntimeMemory& memory() const { return memory_; }
  /// Other bytes of the same process from now on: facts of types stay.
  void use(RuntimeMemory memory) { memory_ = memory; }

 private:
  [[nodiscard]] std::optional<TypeFacts> read(Address method_table);
  [[nodiscard]] std::vector<NamedField> read_fields(TypeFacts type);
  [[nodiscard]] std::optional<FieldPlace> look_for_field(Address method_table, std::string_view name);
  [[nodiscard]] std::string full_name(const names::ModuleFacts& module, std::uint32_t type_def) const;
  [[nodiscard]] Address look_up(Address map, std::uint32_t index) const;
  [[nodiscard]] std::uint32_t row_of(Address module, std::string_view name);
  [[nodiscard]] Address module_of_assembly(std::string_view name);

  RuntimeMemory memory_;
  names::MethodNames& names_;
  std::unordered_map<Address, std::optional<TypeFacts>> types_;
  std::unordered_map<Address, std::vector<NamedField>> fields_;  ///< by canonical MethodTable
  /// Results of `field`, negative ones included; by MethodTable.
  std::unordered_map<Address, std::vector<std::pair<std::string, std::optional<FieldPlace>>>> asked_;
  const std::vector<NamedField> no_fields_;
  /// Rows of a module's types by the hash of their simple names, without namespace and enclosing types.
  using RowsByName = std::vector<std::pair<std::size_t, std::uint32_t>>;
  [[nodiscard]] const RowsByName& rows_by_name(Address module, const names::ModuleFacts& facts);
  std::unordered_map<Address, RowsByName> rows_of_modules_;
  std::map<std::string, Address, std::less<>> found_;  ///< "assembly!type"
  std::vector<Address> modules_;
  std::unordered_map<std::string, Address> module_by_name_;  ///< of the first `named_` modules
  std::size_t named_ = 0;
  bool has_modules_ = false;
};

}  // namespace mixstack::dotnet::objects
