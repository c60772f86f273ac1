#include "dotnet/heap/managed_objects.h"

#include <algorithm>

#include "dotnet/bcl/types.h"
#include "dotnet/names/managed_string.h"

namespace mixstack::dotnet::objects {
namespace {

using names::ElementType;

/// The GC marks objects in the low bits of their MethodTable word (ObjectToMethodTableUnmask; src/coreclr/vm/object.h).
constexpr Address kMethodTableMask = ~Address{7};

/// How thread statics are found: TLSIndex, kind in its highest byte, number in the others
/// (src/coreclr/vm/threadstatics.h, enum class TLSIndexType).
constexpr std::uint32_t kNotAllocated = 0xffffffff, kTlsNumber = 0x00ffffff;
enum class TlsKind : std::uint8_t { non_collectible = 0, collectible = 1, direct = 2 };

}  // namespace

Address ManagedObjects::type_of(Address object) {
  if (object == 0 || object % memory().pointer_size() != 0) return 0;
  const auto word = memory().pointer(object, memory().layouts().object.method_table);
  if (!word) return 0;
  const Address table = *word & kMethodTableMask;
  return types_.at(table) != nullptr ? table : 0;
}

bool ManagedObjects::header_is_clear(Address object) const {
  // Before the word of sync block and thin lock lie four bytes of padding on 64-bit CPUs.
  return read<std::uint32_t>(object - 8) == 0u;
}

std::optional<Address> ManagedObjects::place(Address object, std::string_view field) {
  const Address type = type_of(object);
  if (type == 0) return std::nullopt;
  const auto f = types_.field(type, field);
  if (!f || f->is_static) return std::nullopt;
  return object + memory().pointer_size() + f->offset;
}

std::optional<Address> ManagedObjects::reference(Address object, std::string_view field) {
  const auto at = place(object, field);
  if (!at) return std::nullopt;
  return read<std::uint64_t>(*at);
}

std::optional<StructPlace> ManagedObjects::structure(Address object, std::string_view field, Address method_table) {
  const auto at = place(object, field);
  if (!at || method_table == 0) return std::nullopt;
  return StructPlace{*at, method_table};
}

std::optional<Address> ManagedObjects::place(const StructPlace& in, std::string_view field) {
  const auto f = types_.field(in.method_table, field);
  if (!f || f->is_static) return std::nullopt;
  return in.address + f->offset;
}

std::optional<Address> ManagedObjects::reference(const StructPlace& in, std::string_view field) {
  const auto at = place(in, field);
  if (!at) return std::nullopt;
  return read<std::uint64_t>(*at);
}

// DynamicStaticsInfo stands right before MethodTableAuxiliaryData (src/coreclr/vm/methodtable.h); the low bit of its
// pointers says that the class constructor has not run. References and structs lie among the GC's statics.
std::optional<Address> ManagedObjects::static_place(Address method_table, std::string_view field) {
  const Layouts& l = memory().layouts();
  const auto f = types_.field(method_table, field);
  if (!f || !f->is_static || f->is_thread_static || l.dynamic_statics_info.size == 0) return std::nullopt;
  const TypeFacts* type = types_.at(f->introduced_by);
  if (type == nullptr || type->auxiliary < l.dynamic_statics_info.size) return std::nullopt;
  const bool is_gc = f->element == ElementType::class_ || f->element == ElementType::value_type;
  const Address info = type->auxiliary - l.dynamic_statics_info.size;
  const auto base =
      memory().pointer(info, is_gc ? l.dynamic_statics_info.gc_statics : l.dynamic_statics_info.non_gc_statics);
  if (!base) return std::nullopt;
  const Address mask = l.globals.statics_pointer_mask ? l.globals.statics_pointer_mask.value : ~Address{1};
  const Address begin = *base & mask;
  if (begin == 0) return std::nullopt;
  return begin + f->offset;
}

std::optional<Address> ManagedObjects::static_reference(Address method_table, std::string_view field) {
  const auto at = static_place(method_table, field);
  if (!at) return std::nullopt;
  return read<std::uint64_t>(*at);
}

std::optional<Address> ManagedObjects::thread_static_place(Address thread, Address method_table,
                                                           std::string_view field) {
  const Layouts& l = memory().layouts();
  const auto f = types_.field(method_table, field);
  if (!f || !f->is_thread_static || l.thread_statics_info.size == 0) return std::nullopt;
  const TypeFacts* type = types_.at(f->introduced_by);
  if (type == nullptr || type->auxiliary < l.thread_statics_info.size) return std::nullopt;
  const bool is_gc = f->element == ElementType::class_ || f->element == ElementType::value_type;
  const auto index = memory().value<std::uint32_t>(
      type->auxiliary - l.thread_statics_info.size,
      is_gc ? l.thread_statics_info.gc_tls_index : l.thread_statics_info.non_gc_tls_index);
  const auto data = memory().pointer(thread, l.thread.thread_local_data);
  if (!index || *index == kNotAllocated || !data || *data == 0) return std::nullopt;
  const std::uint32_t number = *index & kTlsNumber;
  switch (static_cast<TlsKind>(*index >> 24)) {
    case TlsKind::direct:
      return *data + number + f->offset;
    case TlsKind::non_collectible: {
      const auto count = memory().value<std::uint32_t>(*data, l.thread_local_data.non_collectible_count);
      const auto array = memory().pointer(*data, l.thread_local_data.non_collectible_array);
      if (!count || !array || number >= *count) return std::nullopt;
      const auto base = memory().pointer_at(*array + std::uint64_t{number} * memory().pointer_size());
      if (!base || *base == 0) return std::nullopt;
      return *base + f->offset;
    }
    default:
      return std::nullopt;
  }
}

bool ManagedObjects::has_no_thread_statics(Address method_table) {
  const ThreadStaticsInfoLayout& l = memory().layouts().thread_statics_info;
  const TypeFacts* type = types_.at(method_table);
  if (type == nullptr || l.size == 0 || type->auxiliary < l.size) return false;
  const Address info = type->auxiliary - l.size;
  return memory().value<std::uint32_t>(info, l.gc_tls_index) == kNotAllocated &&
         memory().value<std::uint32_t>(info, l.non_gc_tls_index) == kNotAllocated;
}

std::optional<Address> ManagedObjects::thread_static_reference(Address thread, Address method_table,
                                                               std::string_view field) {
  const auto at = thread_static_place(thread, method_table, field);
  if (!at) return std::nullopt;
  return read<std::uint64_t>(*at);
}

std::optional<std::uint32_t> ManagedObjects::array_length(Address array) {
  const TypeFacts* type = types_.at(type_of(array));
  if (type == nullptr || !type->is_array) return std::nullopt;
  const auto n = memory().value<std::uint32_t>(array, memory().layouts().array.num_components);
  return n ? std::optional<std::uint32_t>(*n) : std::nullopt;
}

Address ManagedObjects::elements_of(Address array) const { return array + memory().layouts().array.size; }

std::vector<Address> ManagedObjects::references_in(Address array, std::size_t most) {
  const auto length = array_length(array);
  const TypeFacts* type = types_.at(type_of(array));
  if (!length || type == nullptr || type->component_size != memory().pointer_size()) return {};
  std::vector<Address> out(std::min<std::size_t>({*length, most, kMaxElements}));
  const auto read = memory().reader().read_some(elements_of(array), std::as_writable_bytes(std::span(out)));
  out.resize(read ? *read / sizeof(Address) : 0);
  return out;
}

std::vector<Address> ManagedObjects::items_of_list(Address list, std::size_t most) {
  const auto size = value<std::int32_t>(list, bcl::List::kSize);
  const auto items = reference(list, bcl::List::kItems);
  if (!size || *size <= 0 || !items) return {};
  return references_in(*items, std::min<std::size_t>(most, static_cast<std::size_t>(*size)));
}

std::vector<Address> ManagedObjects::words_in(Address object, std::size_t most) {
  constexpr std::uint32_t kOverhead = 16;  // the word before an object and its MethodTable are part of its base size
  const TypeFacts* type = types_.at(type_of(object));
  if (type == nullptr || type->base_size < kOverhead || type->component_size != 0) return {};
  std::vector<Address> words(std::min<std::size_t>((type->base_size - kOverhead) / 8, most));
  const auto n = memory().reader().read_some(object + 8, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  return words;
}

std::string ManagedObjects::text(Address string, std::size_t limit) const {
  return names::read_managed_string(memory(), string, limit).value_or(std::string());
}

}  // namespace mixstack::dotnet::objects
