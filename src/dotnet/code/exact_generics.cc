#include "dotnet/code/exact_generics.h"

#include <optional>

#include "dotnet/code/method_check.h"

namespace mixstack::dotnet {
namespace {

constexpr unsigned kMostParents = 64;
constexpr std::uint32_t kMostArguments = 256;
constexpr Address kLowest = 0x10000;

// MethodTable::MTFlags.
constexpr std::uint32_t kHasComponentSize = 0x80000000, kCollectible = 0x00200000, kGenerics = 0x30,
                        kOneInstantiation = 0x10, kSharedInstantiation = 0x20;
constexpr std::uint32_t kCategory = 0x000c0000, kValueType = 0x00040000;
constexpr Address kTypeDesc = 2;  // bit of a TypeHandle

/// The fields of a MethodTable that are used here.
struct Type {
  std::uint32_t flags = 0;
  Address canonical = 0;

  [[nodiscard]] std::uint32_t generics() const { return (flags & kHasComponentSize) != 0 ? 0 : flags & kGenerics; }
  [[nodiscard]] bool is_value() const { return (flags & kCategory) == kValueType; }
};

std::optional<Type> type_at(const RuntimeMemory& memory, Address table) {
  const MethodTableLayout& l = memory.layouts().method_table;
  if (table < kLowest || table % memory.pointer_size() != 0) return std::nullopt;
  const auto flags = memory.value<std::uint32_t>(table, l.flags);
  const auto word = memory.pointer(table, l.ee_class_or_canon);
  if (!flags || !word || !ee_class_of(memory, table)) return std::nullopt;
  return Type{*flags, (*word & 1) != 0 ? *word & ~Address{1} : table};
}

/// InstantiatedMethodDescFlags2.
enum class Instantiation : std::uint8_t { none, definition = 1, unshared = 2, shared = 3, wrapper = 4 };

/// The fields of a MethodDesc that are used here.
struct Method {
  Address table = 0;
  std::uint64_t token = 0;  ///< its two parts as they stand: good for comparing
  Instantiation instantiation = Instantiation::none;
  Address arguments = 0;
  std::uint16_t count = 0;
};

std::optional<Method> method_at(const RuntimeMemory& memory, Address address) {
  constexpr std::uint16_t kKind = 7;
  const Layouts& l = memory.layouts();
  const GlobalValues& g = l.globals;
  if (address < kLowest || !is_method_desc(memory, address)) return std::nullopt;
  if (!g.method_desc_alignment || !g.method_desc_token_remainder_bits) return std::nullopt;
  const auto table = method_table_of(memory, address);
  const auto kind = method_class(memory, address);
  const auto index = memory.value<std::uint8_t>(address, l.method_desc.chunk_index);
  const auto low = memory.value<std::uint16_t>(address, l.method_desc.flags3_and_token_remainder);
  const std::uint64_t bits = g.method_desc_token_remainder_bits.value;
  if (!table || !kind || !index || !low || bits == 0 || bits >= 16) return std::nullopt;
  const Address chunk = address - l.method_desc_chunk.size - *index * g.method_desc_alignment.value;
  const auto high = memory.value<std::uint16_t>(chunk, l.method_desc_chunk.flags_and_token_range);
  if (!high) return std::nullopt;
  const auto low_part = *low & ((1u << bits) - 1), high_part = *high & ((1u << (24 - bits)) - 1);
  Method m{*table, std::uint64_t{high_part} << bits | low_part, Instantiation::none, 0, 0};
  if (*kind != MethodClass::instantiated) return m;
  const InstantiatedMethodDescLayout& i = l.instantiated_method_desc;
  const auto flags = memory.value<std::uint16_t>(address, i.flags2);
  const auto arguments = memory.pointer(address, i.per_inst_info);
  const auto count = memory.value<std::uint16_t>(address, i.num_generic_args);
  if (!flags || !arguments || !count) return std::nullopt;
  m.instantiation = static_cast<Instantiation>(*flags & kKind);
  m.arguments = *arguments;
  m.count = *count;
  return m;
}

/// Whether `argument` may be what `shared` stands for in shared code. Sets `is_kept` false of what may be freed.
bool stands_for(const RuntimeMemory& memory, Address shared, Address argument, bool& is_kept) {
  const auto type = (argument & kTypeDesc) != 0 ? std::nullopt : type_at(memory, argument);
  if (!type) return false;
  is_kept = is_kept && (type->flags & kCollectible) == 0;
  if (argument == shared) return type->generics() != kSharedInstantiation;
  const auto own = (shared & kTypeDesc) != 0 ? std::nullopt : type_at(memory, shared);
  if (!own) return false;
  if (own->canonical == type->canonical) return true;
  return !own->is_value() && !type->is_value() && own->generics() == 0;  // System.__Canon for a reference
}

GenericContext prove_method(const RuntimeMemory& memory, const Method& own, Address found) {
  const auto exact = method_at(memory, found);
  if (!exact || exact->token != own.token || own.instantiation != Instantiation::shared) return {};
  if (exact->instantiation != Instantiation::unshared && exact->instantiation != Instantiation::wrapper) return {};
  if (exact->count != own.count || own.count == 0 || own.count > kMostArguments) return {};
  const auto exact_type = type_at(memory, exact->table), own_type = type_at(memory, own.table);
  if (!exact_type || !own_type || exact_type->canonical != own_type->canonical) return {};
  if (exact_type->generics() == kSharedInstantiation) return {};
  GenericContext context{found, true, false, (exact_type->flags & kCollectible) == 0};
  for (std::uint32_t i = 0; i < own.count; i++) {
    const Address at = Address{i} * memory.pointer_size();
    const auto shared = memory.pointer_at(own.arguments + at), argument = memory.pointer_at(exact->arguments + at);
    if (!shared || !argument || !stands_for(memory, *shared, *argument, context.is_kept)) return {};
  }
  return context;
}

}  // namespace

bool has_objects(const RuntimeMemory& memory, Address method_desc) {
  const auto table = method_table_of(memory, method_desc);
  const auto type = table ? type_at(memory, *table) : std::nullopt;
  return type && !type->is_value();
}

SharedBy shared_by(const RuntimeMemory& memory, Address method_desc) {
  const auto method = method_at(memory, method_desc);
  if (!method) return SharedBy::nobody;
  if (method->instantiation == Instantiation::shared) return SharedBy::methods;
  if (method->instantiation != Instantiation::none) return SharedBy::nobody;
  const auto type = type_at(memory, method->table);
  return type && type->generics() == kSharedInstantiation ? SharedBy::types : SharedBy::nobody;
}

bool is_static(const RuntimeMemory& memory, Address method_desc) {
  constexpr std::uint16_t kStatic = 0x80;
  const auto flags = memory.value<std::uint16_t>(method_desc, memory.layouts().method_desc.flags);
  return flags && (*flags & kStatic) != 0;
}

GenericContext prove_context(const RuntimeMemory& memory, Address shared, GenericContextKind kind, Address found) {
  const auto own = method_at(memory, shared);
  if (!own || kind == GenericContextKind::none) return {};
  if (kind == GenericContextKind::method_desc) return prove_method(memory, *own, found);
  const auto own_type = type_at(memory, own->table);
  if (!own_type || own_type->generics() != kSharedInstantiation) return {};
  const bool of_object = kind == GenericContextKind::this_object;
  for (unsigned depth = 0; depth <= (of_object ? kMostParents : 0); depth++) {
    const auto type = type_at(memory, found);
    if (!type) return {};
    if (type->canonical == own_type->canonical) {
      if (type->generics() != kOneInstantiation) return {};
      return {found, false, of_object, (type->flags & kCollectible) == 0};
    }
    const auto parent = memory.pointer(found, memory.layouts().method_table.parent);
    if (!parent) return {};
    found = *parent;
  }
  return {};
}

}  // namespace mixstack::dotnet
