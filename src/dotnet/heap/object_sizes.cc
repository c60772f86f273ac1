#include "dotnet/heap/object_sizes.h"

#include "dotnet/heap/aot_method_table.h"

namespace mixstack::dotnet::objects {
namespace {

// MethodTable::m_dwFlags (src/coreclr/vm/methodtable.h).
constexpr std::uint32_t kHasComponents = 0x80000000, kComponentSize = 0xffff;
constexpr std::uint32_t kLeastBase = 16, kMostBase = 1 << 28;
constexpr std::size_t kFirstSlots = 1 << 12;

}  // namespace

ObjectSizes::ObjectSizes(RuntimeMemory memory) : memory_(memory), slots_(kFirstSlots) {
  const GlobalValues& globals = memory_.layouts().globals;
  free_ = memory_.through(globals.free_object_method_table).value_or(0);
  continuations_ = memory_.through(globals.continuation_ee_class).value_or(0);
}

std::size_t ObjectSizes::slot_of(Address method_table) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>((method_table >> 3) * 0x9e3779b97f4a7c15u >> 40) & mask;
  while (slots_[slot] != 0 && types_[slots_[slot] - 1].method_table != method_table) slot = (slot + 1) & mask;
  return slot;
}

void ObjectSizes::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < types_.size(); i++)
    slots_[slot_of(types_[i].method_table)] = static_cast<std::uint32_t>(i + 1);
}

std::optional<std::uint32_t> ObjectSizes::find(std::uint64_t first_word) {
  const Address method_table = first_word & ~std::uint64_t{7};
  const std::size_t slot = slot_of(method_table);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  if (types_.size() == kMostTypes) return std::nullopt;
  const auto type = read(method_table);
  if (!type) return std::nullopt;
  types_.push_back(*type);
  slots_[slot] = static_cast<std::uint32_t>(types_.size());
  if (types_.size() * 2 > slots_.size()) grow();
  return static_cast<std::uint32_t>(types_.size() - 1);
}

std::optional<ObjectSizes::Type> ObjectSizes::read_aot(Address method_table) const {
  const auto table = read_aot_method_table(memory_, method_table);
  if (!table) return std::nullopt;
  const bool is_free = method_table == free_;
  if (!is_free && !is_type_of_objects(memory_, *table)) return std::nullopt;
  return Type{method_table, table->base, table->component(), is_free, table->is_string()};
}

/// The type of gaps has no EEClass; types of continuations share one, which points at none of them.
std::optional<ObjectSizes::Type> ObjectSizes::read(Address method_table) const {
  constexpr Address kLowest = 0x10000;
  if (method_table < kLowest) return std::nullopt;
  if (memory_.layouts().is_native_aot) return read_aot(method_table);
  const MethodTableLayout& at = memory_.layouts().method_table;
  const auto flags = memory_.value<std::uint32_t>(method_table, at.flags);
  const auto base = memory_.value<std::uint32_t>(method_table, at.base_size);
  if (!flags || !base || *base < kLeastBase || *base > kMostBase) return std::nullopt;
  const Type type{method_table, *base, (*flags & kHasComponents) != 0 ? *flags & kComponentSize : 0,
                  method_table == free_};
  if (type.is_free) return type;
  const auto link = memory_.pointer(method_table, at.ee_class_or_canon);
  if (!link) return std::nullopt;
  Address canonical = method_table, ee_class = *link;
  if ((*link & 1) != 0) {
    canonical = *link & ~Address{1};
    ee_class = memory_.pointer(canonical, at.ee_class_or_canon).value_or(0);
  }
  if (ee_class == 0) return std::nullopt;
  if (ee_class == continuations_) return type;
  const auto back = memory_.pointer(ee_class, memory_.layouts().ee_class.method_table);
  return back && *back == canonical ? std::optional(type) : std::nullopt;
}

}  // namespace mixstack::dotnet::objects
