// Finds managed types and their fields from outside the process.
// Input: addresses of MethodTables, or an assembly and a type name. Output: TypeFacts, FieldPlaces, 0 or nothing.
// Algorithm:
//   - A MethodTable (`read`): its EEClass must point back at the canonical MethodTable. Name and assembly come from the
//     metadata. No offset of a managed type is written down here.
//   - Fields (`read_fields`): the type's FieldDescs, each checked against the MethodTable and the type's rows in the
//     metadata; one that does not fit discards all, since then the layout is not what we take it for.
//   - A type by name (`find`): the assembly's module, the metadata row by a hash of the name, then the module's map of
//     rows to MethodTables; the MethodTable found must name the same row and module.
// Bounds: kMaxTypes cached types, kMaxFields fields, kMaxParents parents, kMostModules modules, 256 map blocks.
#include "dotnet/heap/loaded_types.h"

#include <algorithm>
#include <functional>

#include "dotnet/bcl/types.h"
#include "dotnet/code/method_check.h"
#include "dotnet/heap/loaded_modules.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::objects {
namespace {

using names::ElementType;
using names::TableId;

// MethodTable flags (src/coreclr/vm/methodtable.h: enum_flag_Category_Mask, its values, enum_flag_HasComponentSize).
constexpr std::uint32_t kArrayMask = 0x000c0000, kArray = 0x00080000;
constexpr std::uint32_t kValueMask = 0x000c0000, kValue = 0x00040000, kHasComponentSize = 0x80000000u;
constexpr std::uint32_t kCategoryMask = 0x000f0000, kInterface = 0x000c0000;
constexpr std::uint32_t kGenericsMask = 0x30;

// FieldDesc (src/coreclr/vm/field.h), which no descriptor has: the enclosing MethodTable, then two words of bits.
// Each entry proves itself by its MethodTable and by the range of rows that the type has in the metadata.
constexpr std::uint32_t kFieldDescSize = 16;
struct FieldDesc {
  std::uint64_t method_table;
  std::uint32_t first, second;
  [[nodiscard]] std::uint32_t row() const { return first & 0x00ffffff; }
  [[nodiscard]] bool is_static() const { return (first & 0x01000000) != 0; }
  [[nodiscard]] bool is_thread_static() const { return (first & 0x02000000) != 0; }
  [[nodiscard]] bool is_rva() const { return (first & 0x04000000) != 0; }
  [[nodiscard]] std::uint32_t offset() const { return second & 0x07ffffff; }
  [[nodiscard]] ElementType element() const { return static_cast<ElementType>(second >> 27); }
};
static_assert(sizeof(FieldDesc) == kFieldDescSize);

constexpr unsigned kTypeNameColumn = 1;   // ECMA-335 II.22.37: Flags, TypeName, TypeNamespace
constexpr unsigned kFieldNameColumn = 1;  // ECMA-335 II.22.15: Flags, Name, Signature

}  // namespace

const TypeFacts* LoadedTypes::at(Address method_table) {
  if (const auto it = types_.find(method_table); it != types_.end()) return it->second ? &*it->second : nullptr;
  if (types_.size() >= kMaxTypes) {
    types_.clear();
    fields_.clear();
    asked_.clear();
  }
  auto& kept = types_[method_table];
  kept = read(method_table);
  return kept ? &*kept : nullptr;
}

std::optional<TypeFacts> LoadedTypes::read(Address method_table) {
  const Layouts& l = memory_.layouts();
  if (method_table == 0 || method_table % memory_.pointer_size() != 0) return std::nullopt;
  const auto flags = memory_.value<std::uint32_t>(method_table, l.method_table.flags);
  const auto flags2 = memory_.value<std::uint32_t>(method_table, l.method_table.flags2);
  const auto own = memory_.pointer(method_table, l.method_table.ee_class_or_canon);
  if (!flags || !flags2 || !own || *own == 0) return std::nullopt;
  TypeFacts t;
  t.method_table = t.canonical = method_table;
  t.ee_class = *own;
  if ((*own & 1) != 0) {  // the low bit marks a pointer to the canonical MethodTable
    t.canonical = *own & ~Address{1};
    const auto real = memory_.pointer(t.canonical, l.method_table.ee_class_or_canon);
    if (!real) return std::nullopt;
    t.ee_class = *real;
  }
  const auto back = memory_.pointer(t.ee_class, l.ee_class.method_table);
  if (!back || (*back != t.canonical && !is_continuation_type(memory_, t.canonical, t.ee_class))) return std::nullopt;
  t.parent = memory_.pointer(method_table, l.method_table.parent).value_or(0);
  t.module = memory_.pointer(method_table, l.method_table.module).value_or(0);
  t.auxiliary = memory_.pointer(method_table, l.method_table.auxiliary_data).value_or(0);
  t.base_size = memory_.value<std::uint32_t>(method_table, l.method_table.base_size).value_or(0);
  t.type_def = *flags2 >> 8;
  t.is_array = (*flags & kArrayMask) == kArray;
  t.is_value = (*flags & kValueMask) == kValue;
  t.is_interface = (*flags & kCategoryMask) == kInterface;
  const bool has_components = (*flags & kHasComponentSize) != 0;
  if (has_components) t.component_size = static_cast<std::uint16_t>(*flags & 0xffff);
  if (t.is_array || (!has_components && (*flags & kGenericsMask) != 0))
    t.instantiation = memory_.pointer(method_table, l.method_table.per_inst_info).value_or(0);
  const names::ModuleFacts& module = names_.module(t.module);
  t.assembly = module.assembly;
  if (!t.is_array) t.name = full_name(module, t.type_def);
  return t;
}

std::string LoadedTypes::full_name(const names::ModuleFacts& module, std::uint32_t type_def) const {
  if (module.metadata == nullptr) return {};
  const auto chain = names::nesting_chain(module.metadata.get(), names::Token(TableId::type_def, type_def));
  std::string text;
  for (unsigned i = 0; i < chain.count; i++) {
    if (i != 0) text += '+';
    if (i == 0 && !chain.types[i].name_space.empty()) text.append(chain.types[i].name_space) += '.';
    text += chain.types[i].name;
  }
  return text;
}

const std::vector<LoadedTypes::NamedField>& LoadedTypes::own_fields(Address method_table) {
  const TypeFacts* type = at(method_table);
  if (type == nullptr) return no_fields_;
  const Address canonical = type->canonical;
  if (const auto known = fields_.find(canonical); known != fields_.end()) return known->second;
  // Reading asks for other types, which may start the caches anew.
  std::vector<NamedField> fields = read_fields(*type);
  return fields_.insert_or_assign(canonical, std::move(fields)).first->second;
}

std::vector<LoadedTypes::NamedField> LoadedTypes::read_fields(TypeFacts type) {
  const EEClassLayout& l = memory_.layouts().ee_class;
  if (memory_.pointer_size() != 8 || type.is_array) return {};
  const auto list = memory_.pointer(type.ee_class, l.field_desc_list);
  const auto instance = memory_.value<std::uint16_t>(type.ee_class, l.num_instance_fields);
  const auto statics = memory_.value<std::uint16_t>(type.ee_class, l.num_static_fields);
  if (!list || !instance || !statics || *list == 0) return {};
  std::uint32_t inherited = 0;
  const Address parent_table = type.parent;
  if (const TypeFacts* parent = at(parent_table); parent != nullptr)
    inherited = memory_.value<std::uint16_t>(parent->ee_class, l.num_instance_fields).value_or(0);
  if (*instance < inherited) return {};
  const std::uint32_t count = *instance - inherited + *statics;
  const names::ModuleFacts& module = names_.module(type.module);
  if (count == 0 || count > kMaxFields || module.metadata == nullptr) return {};
  std::vector<FieldDesc> entries(count);
  if (!memory_.reader().read_exact(*list, std::as_writable_bytes(std::span(entries)))) return {};
  const auto row = module.metadata->type_def(type.type_def);
  const auto next = module.metadata->type_def(type.type_def + 1);
  if (!row) return {};
  const names::RowRange rows{row->field_list, next ? next->field_list : module.metadata->row_count(TableId::field) + 1};
  std::vector<NamedField> fields;
  for (const FieldDesc& e : entries) {
    if (e.method_table != type.canonical || !rows.contains(e.row())) return {};  // not what we take it for
    if (e.is_rva()) continue;
    fields.push_back({std::string(module.metadata->string_cell(TableId::field, e.row(), kFieldNameColumn)),
                      {e.offset(), e.element(), e.is_static(), e.is_thread_static(), type.canonical}});
  }
  return fields;
}

std::optional<FieldPlace> LoadedTypes::field(Address method_table, std::string_view name) {
  const auto known = asked_.find(method_table);
  if (known != asked_.end())
    for (const auto& [asked, place] : known->second)
      if (asked == name) return place;
  const auto place = look_for_field(method_table, name);
  if (at(method_table) != nullptr) asked_[method_table].emplace_back(name, place);
  return place;
}

std::optional<FieldPlace> LoadedTypes::look_for_field(Address method_table, std::string_view name) {
  Address table = method_table;
  for (unsigned depth = 0; table != 0 && depth < kMaxParents; depth++) {
    for (const NamedField& f : own_fields(table))
      if (f.name == name) return f.place;
    const TypeFacts* type = at(table);
    if (type == nullptr) return std::nullopt;
    table = type->parent;
  }
  return std::nullopt;
}

bool LoadedTypes::is_a(Address method_table, std::string_view name) {
  Address table = method_table;
  for (unsigned depth = 0; table != 0 && depth < kMaxParents; depth++) {
    const TypeFacts* type = at(table);
    if (type == nullptr) return false;
    if (type->name == name) return true;
    table = type->parent;
  }
  return false;
}

bool LoadedTypes::is_core(Address method_table, std::string_view name) {
  Address table = method_table;
  for (unsigned depth = 0; table != 0 && depth < kMaxParents; depth++) {
    const TypeFacts* type = at(table);
    if (type == nullptr) return false;
    if (type->name == name && type->assembly == bcl::kCoreLib) return true;
    table = type->parent;
  }
  return false;
}

std::string LoadedTypes::csharp_name(Address method_table) {
  return names_.type_name(method_table).value_or(std::string());
}

std::vector<Address> LoadedTypes::arguments(Address method_table) {
  constexpr std::uint16_t kMaxArguments = 64;
  const TypeFacts* type = at(method_table);
  if (type == nullptr || type->instantiation == 0) return {};
  if (type->is_array) return {type->instantiation};
  // GenericsDictInfo lies before the table of dictionaries; the last dictionary is the type's own.
  const GenericsDictInfoLayout& l = memory_.layouts().generics_dict_info;
  const Address info = type->instantiation - memory_.pointer_size();
  const auto dictionaries = memory_.value<std::uint16_t>(info, l.num_dicts);
  const auto count = memory_.value<std::uint16_t>(info, l.num_type_args);
  if (!dictionaries || !count || *dictionaries == 0 || *count > kMaxArguments) return {};
  const auto own = memory_.pointer_at(type->instantiation + memory_.pointer_size() * (*dictionaries - 1u));
  if (!own) return {};
  std::vector<Address> arguments(*count);
  if (!memory_.reader().read_exact(*own, std::as_writable_bytes(std::span(arguments)))) return {};
  return arguments;
}

const std::vector<Address>& LoadedTypes::modules() {
  if (!has_modules_) modules_ = loaded_modules(memory_);
  has_modules_ = true;
  return modules_;
}

/// The first module of the assembly; 0: there is none. Names are in each module's metadata, which is opened one by one
/// as needed: the core library, which most look-ups are for, is loaded first.
Address LoadedTypes::module_of_assembly(std::string_view name) {
  const std::string key(name);
  for (; !module_by_name_.contains(key) && named_ < modules().size(); named_++)
    module_by_name_.try_emplace(names_.module(modules_[named_]).assembly, modules_[named_]);
  const auto at = module_by_name_.find(key);
  return at == module_by_name_.end() ? 0 : at->second;
}

/// Hashes of simple names: the core library has thousands of types, and full names are built only for the few wanted.
const LoadedTypes::RowsByName& LoadedTypes::rows_by_name(Address module, const names::ModuleFacts& facts) {
  const auto [it, is_new] = rows_of_modules_.try_emplace(module);
  if (!is_new || facts.metadata == nullptr) return it->second;
  const std::uint32_t rows = std::min<std::uint32_t>(facts.metadata->row_count(TableId::type_def), 1u << 17);
  it->second.reserve(rows);
  for (std::uint32_t rid = 1; rid <= rows; rid++)
    it->second.emplace_back(
        std::hash<std::string_view>{}(facts.metadata->string_cell(TableId::type_def, rid, kTypeNameColumn)), rid);
  std::sort(it->second.begin(), it->second.end());
  return it->second;
}

/// The first row of a type with this full name; 0: there is none.
std::uint32_t LoadedTypes::row_of(Address module, std::string_view name) {
  const names::ModuleFacts& facts = names_.module(module);
  const RowsByName& rows = rows_by_name(module, facts);
  std::uint32_t found = 0;
  // The simple name may contain dots, too: each possible beginning is tried.
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t hash = std::hash<std::string_view>{}(name.substr(begin));
    for (auto at = std::lower_bound(rows.begin(), rows.end(), std::pair(hash, std::uint32_t{0}));
         at != rows.end() && at->first == hash && (found == 0 || at->second < found); ++at)
      if (full_name(facts, at->second) == name) found = at->second;
    const std::size_t cut = name.find_first_of(".+", begin);
    begin = cut == std::string_view::npos ? name.size() : cut + 1;
  }
  return found;
}

// ModuleLookupMap (src/coreclr/vm/ceeload.h): blocks of pointers, linked; the low bits of an entry are flags.
Address LoadedTypes::look_up(Address map, std::uint32_t index) const {
  const ModuleLookupMapLayout& l = memory_.layouts().module_lookup_map;
  const Address mask = memory_.pointer(map, l.supported_flags_mask).value_or(0);
  for (unsigned blocks = 0; map != 0 && blocks < 256; blocks++) {
    const auto count = memory_.value<std::uint32_t>(map, l.count);
    const auto table = memory_.pointer(map, l.table_data);
    if (!count || !table) return 0;
    if (index < *count)
      return memory_.pointer_at(*table + std::uint64_t{index} * memory_.pointer_size()).value_or(0) & ~mask;
    index -= *count;
    map = memory_.pointer(map, l.next).value_or(0);
  }
  return 0;
}

Address LoadedTypes::find(std::string_view assembly, std::string_view name) {
  std::string key;
  key.append(assembly).append("!").append(name);
  if (const auto it = found_.find(key); it != found_.end()) return it->second;
  Address found = 0;
  const Address module = module_of_assembly(assembly);
  if (module != 0 && memory_.layouts().module.type_def_to_method_table_map) {
    if (const std::uint32_t rid = row_of(module, name); rid != 0) {
      const Address table = look_up(module + memory_.layouts().module.type_def_to_method_table_map.offset, rid);
      const TypeFacts* facts = at(table);
      if (facts != nullptr && facts->type_def == rid && facts->module == module) found = table;
    }
  }
  if (found != 0) found_.emplace(std::move(key), found);  // a type that is not loaded yet may be loaded later
  return found;
}

// EETypeHashTable (src/coreclr/vm/typehash.h). Slots of DacEnumerableHashTable's buckets
// (src/coreclr/vm/dacenumerablehash.inl): their number, the table that takes over while it grows, a mark of ends; then
// the lists.
std::vector<Address> LoadedTypes::generic_instances(Address module) const {
  constexpr unsigned kLength = 0, kNextTable = 1, kFirstBucket = 3, kMostTables = 8;
  constexpr std::uint64_t kMostBuckets = 1 << 20;
  constexpr Address kTypeDescBit = 2;  // of a TypeHandle (src/coreclr/vm/typehandle.h)
  std::vector<Address> found;
  const Layouts& l = memory_.layouts();
  const EETypeHashTableLayout& table = l.ee_type_hash_table;
  if (!l.module.available_type_params || !table.buckets || !table.entry_next) return found;
  const Address hash = memory_.pointer(module, l.module.available_type_params).value_or(0);
  Address buckets = hash == 0 ? 0 : memory_.pointer(hash, table.buckets).value_or(0);
  std::size_t seen = 0;  // entries, whatever is in them: a list may lead back to itself
  for (unsigned tables = 0; buckets != 0 && tables < kMostTables; tables++) {
    const std::uint64_t length = memory_.pointer_at(buckets + 8 * kLength).value_or(0);
    if (length == 0 || length > kMostBuckets) return found;
    std::vector<Address> lists(length);
    if (!memory_.reader().read_exact(buckets + 8 * kFirstBucket, std::as_writable_bytes(std::span(lists))))
      return found;
    for (Address entry : lists) {
      while (entry != 0 && (entry & 1) == 0) {  // the low bit marks an end
        if (seen++ == kMaxInstances) return found;
        const Address type = memory_.pointer(entry, table.entry_value).value_or(0) & ~Address{1};
        if (type != 0 && (type & kTypeDescBit) == 0) found.push_back(type);
        entry = memory_.pointer(entry, table.entry_next).value_or(0);
      }
    }
    buckets = memory_.pointer_at(buckets + 8 * kNextTable).value_or(0);
  }
  return found;
}

}  // namespace mixstack::dotnet::objects
