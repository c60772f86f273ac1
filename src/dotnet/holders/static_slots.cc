#include "dotnet/holders/static_slots.h"

#include <algorithm>
#include <unordered_set>

namespace mixstack::dotnet::holders {
namespace {

using names::ElementType;

constexpr unsigned kMostBlocks = 256;
// TLSIndex (src/coreclr/vm/threadstatics.h): the kind in its highest byte, 0 for those in the threads' arrays.
constexpr std::uint32_t kNotAllocated = 0xffffffff, kTlsNumber = 0x00ffffff;

bool is_reference(const objects::FieldPlace& place) {
  return place.element == ElementType::class_ || place.element == ElementType::value_type;
}

}  // namespace

/// ModuleLookupMap: blocks of pointers, linked; the low bits of an entry are flags.
void StaticSlots::add_types_of(Address module) {
  const RuntimeMemory& memory = types_.memory();
  const ModuleLookupMapLayout& l = memory.layouts().module_lookup_map;
  const Field at = memory.layouts().module.type_def_to_method_table_map;
  if (!at) return;
  Address map = module + at.offset;
  const Address mask = memory.pointer(map, l.supported_flags_mask).value_or(0);
  for (unsigned blocks = 0; map != 0 && blocks < kMostBlocks; blocks++) {
    const auto count = memory.value<std::uint32_t>(map, l.count);
    const auto table = memory.pointer(map, l.table_data);
    if (!count || !table || *count > kMostTypes - all_.size()) return;
    std::vector<Address> entries(*count);
    if (*count != 0 && memory.reader().read_exact(*table, std::as_writable_bytes(std::span(entries))))
      for (const Address entry : entries)
        if ((entry & ~mask) != 0) all_.push_back(entry & ~mask);
    map = memory.pointer(map, l.next).value_or(0);
  }
}

/// A thread's array leads to an array of each type's statics.
void StaticSlots::add_of_threads(const objects::TypeFacts& type, const objects::LoadedTypes::NamedField& field,
                                 std::span<const ThreadStatics> threads) {
  const RuntimeMemory& memory = types_.memory();
  const ThreadStaticsInfoLayout& l = memory.layouts().thread_statics_info;
  if (l.size == 0 || type.auxiliary < l.size) return;
  const auto index = memory.value<std::uint32_t>(type.auxiliary - l.size, l.gc_tls_index);
  if (!index || *index == kNotAllocated || *index >> 24 != 0) return;
  const std::uint32_t number = *index & kTlsNumber;
  for (const ThreadStatics& t : threads) {
    if (t.array == 0 || number >= t.count) continue;
    // The first numbers are of other statics, as many as the array's header has words; offsets of fields are from the
    // begin of the object.
    const Address base = memory.pointer_at(t.array + std::uint64_t{number} * 8).value_or(0);
    if (base != 0) add({base + field.place.offset, type.method_table, field.name, t.os_id});
  }
}

void StaticSlots::add_type(Address method_table, std::span<const ThreadStatics> threads) {
  const objects::TypeFacts* facts = types_.at(method_table);
  if (facts == nullptr || facts->is_array) return;
  const RuntimeMemory& memory = types_.memory();
  const Layouts& l = memory.layouts();
  if (memory.value<std::uint16_t>(facts->ee_class, l.ee_class.num_static_fields).value_or(0) == 0) return;
  const objects::TypeFacts type = *facts;
  const DynamicStaticsInfoLayout& statics = l.dynamic_statics_info;
  if (statics.size == 0 || type.auxiliary < statics.size) return;
  const Address mask = l.globals.statics_pointer_mask ? l.globals.statics_pointer_mask.value : ~Address{1};
  const Address base = memory.pointer(type.auxiliary - statics.size, statics.gc_statics).value_or(0) & mask;
  for (const auto& field : types_.own_fields(method_table)) {
    if (!field.place.is_static || !is_reference(field.place)) continue;
    if (field.place.is_thread_static) {
      add_of_threads(type, field, threads);
    } else if (base != 0) {
      add({base + field.place.offset, type.method_table, field.name, 0});
    }
  }
}

std::vector<StaticSlot> StaticSlots::find(std::span<const ThreadStatics> threads) {
  all_.clear();
  slots_.clear();
  for (const Address module : types_.modules()) {
    add_types_of(module);
    for (const Address type : types_.generic_instances(module))
      if (all_.size() < kMostTypes) all_.push_back(type);
  }
  std::sort(all_.begin(), all_.end());
  all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  for (const Address type : all_) add_type(type, threads);
  std::stable_sort(slots_.begin(), slots_.end(), [](const StaticSlot& a, const StaticSlot& b) { return a.at < b.at; });
  slots_.erase(
      std::unique(slots_.begin(), slots_.end(), [](const StaticSlot& a, const StaticSlot& b) { return a.at == b.at; }),
      slots_.end());
  return std::move(slots_);
}

std::string StaticSlots::name_of(objects::LoadedTypes& types, const StaticSlot& slot) {
  std::string type = types.csharp_name(slot.method_table), field = slot.field;
  const std::size_t end = field.starts_with('<') ? field.find(">k__BackingField") : std::string::npos;
  if (end != std::string::npos) field = field.substr(1, end - 1);
  return type.empty() ? field : type + "." + field;
}

}  // namespace mixstack::dotnet::holders
