// Input: the bytes of a MethodTable. Output: its facts, and whether objects may have it.
// Algorithm: behind the virtual methods and the interfaces come fields that a type has or has not, by its flags, in the
// order of MethodTable.GetFieldOffset (src/coreclr/nativeaot/Common/src/Internal/Runtime/MethodTable.cs); the generic
// type and its arguments are the last but what only types made at run time have. Types of the image refer to others by
// distances of 32 bits, those made at run time by pointers.
// Bounds: kMostParents base types, kMostArguments arguments.
#include "dotnet/heap/aot_method_table.h"

namespace mixstack::dotnet::objects {
namespace {

using Kind = AotMethodTable::Kind;
using Element = AotMethodTable::Element;

constexpr unsigned kMostParents = 64;
constexpr std::uint32_t kMostArguments = 64, kLeastBase = 24, kMostBase = 1 << 28;
constexpr Address kLowest = 0x10000;

/// Base types of objects' types are classes, up to System.Object.
bool ends_at_object(const RuntimeMemory& memory, AotMethodTable table) {
  for (unsigned i = 0; i < kMostParents; i++) {
    if (table.related == 0)
      return table.element() == Element::class_ && table.base == kLeastBase && !table.has(AotMethodTable::kPointers);
    const auto parent = read_aot_method_table(memory, table.related);
    if (!parent || parent->kind() != Kind::canonical || parent->has(AotMethodTable::kComponents)) return false;
    if (parent->element() != Element::class_ && parent->element() != Element::system_array) return false;
    table = *parent;
  }
  return false;
}

bool is_array_of_objects(const RuntimeMemory& memory, const AotMethodTable& table) {
  if (table.kind() != Kind::parameterized || !table.is_array() || table.component() == 0) return false;
  if (table.base < kLeastBase || table.base % 8 != 0 || table.base > kMostBase) return false;
  const auto element = read_aot_method_table(memory, table.related);
  if (!element || element->kind() == Kind::generic_definition) return false;
  if (element->kind() != Kind::canonical) return true;
  return element->element() == Element::interface ? element->related == 0 : ends_at_object(memory, *element);
}

/// A place that holds another type: as a distance from itself, or as a pointer.
struct Places {
  const RuntimeMemory& memory;
  bool are_pointers = false;

  [[nodiscard]] unsigned size() const { return are_pointers ? 8 : 4; }
  [[nodiscard]] std::optional<Address> at(Address place) const {
    if (are_pointers) {
      const auto pointer = memory.reader().read<std::uint64_t>(place);
      return pointer ? std::optional(*pointer) : std::nullopt;
    }
    const auto distance = memory.reader().read<std::int32_t>(place);
    return distance ? std::optional(place + static_cast<Address>(std::int64_t{*distance})) : std::nullopt;
  }
};

}  // namespace

std::optional<AotMethodTable> read_aot_method_table(const RuntimeMemory& memory, Address address) {
  if (address < kLowest || address % 8 != 0) return std::nullopt;
  const AotMethodTableLayout& at = memory.layouts().aot_method_table;
  const auto flags = memory.value<std::uint32_t>(address, at.flags),
             base = memory.value<std::uint32_t>(address, at.base_size);
  const auto related = memory.pointer(address, at.related_type);
  const auto slots = memory.value<std::uint16_t>(address, at.num_vtable_slots),
             interfaces = memory.value<std::uint16_t>(address, at.num_interfaces);
  if (!flags || !base || !related || !slots || !interfaces) return std::nullopt;
  return AotMethodTable{address, *flags, *base, *related, *slots, *interfaces};
}

bool is_type_of_objects(const RuntimeMemory& memory, const AotMethodTable& table) {
  if (table.kind() == Kind::parameterized) return is_array_of_objects(memory, table);
  if (table.kind() != Kind::canonical || table.base > kMostBase) return false;
  if (table.has(AotMethodTable::kComponents))
    return table.is_string() && table.base == AotMethodTable::kStringBase && ends_at_object(memory, table);
  const Element element = table.element();
  const bool is_value = element > Element::void_ && element <= Element::last_value;
  if (!is_value && element != Element::class_ && !table.is_of_statics()) return false;
  return table.base >= kLeastBase && table.base % 8 == 0 && ends_at_object(memory, table);
}

std::optional<AotInstance> aot_instance(const RuntimeMemory& memory, const AotMethodTable& table) {
  if (table.kind() != Kind::canonical || !table.has(AotMethodTable::kGeneric)) return std::nullopt;
  const Field vtable = memory.layouts().aot_method_table.vtable;
  if (!vtable) return std::nullopt;
  const Places places{memory, table.has(AotMethodTable::kDynamic)};
  Address at = table.address + vtable.offset + std::uint64_t{8} * (table.vtable_slots + table.interfaces);
  at += std::uint64_t{2} * places.size();  // the type manager, and data that can be written
  for (const std::uint32_t flag : {AotMethodTable::kDispatchMap, AotMethodTable::kFinalizer, AotMethodTable::kSealed})
    if (table.has(flag)) at += places.size();
  const auto definition = places.at(at);
  const auto generic = definition ? read_aot_method_table(memory, *definition) : std::nullopt;
  // A definition has its number of parameters in place of a size.
  if (!generic || generic->kind() != Kind::generic_definition || generic->base == 0 || generic->base > kMostArguments)
    return std::nullopt;
  at += places.size();
  if (generic->base != 1) {
    const auto list = places.at(at);
    if (!list) return std::nullopt;
    at = *list;
  }
  AotInstance instance{*definition, {}};
  for (std::uint32_t i = 0; i < generic->base; i++) {
    const auto argument = places.at(at + std::uint64_t{i} * places.size());
    if (!argument) return std::nullopt;
    instance.arguments.push_back(*argument);
  }
  return instance;
}

}  // namespace mixstack::dotnet::objects
