#include "dotnet/code/range_sections.h"

#include <algorithm>

namespace mixstack::dotnet {
namespace {

// RangeSection::RangeSectionFlags in src/coreclr/vm/codeman.h.
constexpr std::uint32_t kCollectible = 1, kCodeHeap = 2, kRangeList = 4;

// RangeSectionMap in src/coreclr/vm/codeman.h: 256 entries per level; bit 0 of a pointer marks collectible parts.
struct MapShape {
  unsigned levels, top_bit;
};
constexpr MapShape shape_of(unsigned pointer_size) { return pointer_size == 8 ? MapShape{5, 57} : MapShape{2, 32}; }
constexpr unsigned kBitsPerLevel = 8;

}  // namespace

Result<Address> RangeSections::leaf(Address address) const {
  const auto& l = memory_.layouts();
  if (!l.globals.code_range_map || !l.range_section_map.top_level_data) return fail(ErrorCode::field_unavailable);
  const MapShape shape = shape_of(memory_.pointer_size());
  if (shape.top_bit < 64 && address >> shape.top_bit != 0) return Address{0};
  Address table = l.globals.code_range_map.value + l.range_section_map.top_level_data.offset;
  for (unsigned level = 1; level <= shape.levels; level++) {
    const Address index = address >> (shape.top_bit - kBitsPerLevel * level) & 0xff;
    auto next = memory_.pointer_at(table + index * memory_.pointer_size());
    if (!next) return next;
    table = *next & ~Address{1};
    if (table == 0) break;
  }
  return table;
}

Result<RangeSection> RangeSections::read_section(Address at) const {
  const auto& l = memory_.layouts().range_section;
  auto begin = memory_.pointer(at, l.range_begin);
  auto end = memory_.pointer(at, l.range_end_open);
  auto flags = memory_.value<std::uint32_t>(at, l.flags);
  auto heap = memory_.pointer(at, l.heap_list);
  auto module = memory_.pointer(at, l.r2r_module);
  if (!begin || !end || !flags || !heap || !module) return fail(ErrorCode::unreadable_memory, at);
  RangeSection s;
  s.address = at;
  s.range = {*begin, *end};
  s.is_collectible = (*flags & kCollectible) != 0;
  s.heap_list = *heap;
  s.module = *module;
  if (*module != 0) {
    s.kind = RangeSection::Kind::ready_to_run;
  } else if ((*flags & kCodeHeap) != 0) {
    s.kind = RangeSection::Kind::code_heap;
  } else if ((*flags & kRangeList) != 0) {
    s.kind = RangeSection::Kind::stub_list;
    const Field type = memory_.layouts().code_range_list.type;
    if (auto list = memory_.pointer(at, l.range_list); list && *list != 0 && type)
      s.list_kind = memory_.value<std::uint8_t>(*list, type).value_or(0);
  }
  return s;
}

/// RangeSectionFragment::InRange in src/coreclr/vm/codeman.h passes over these: the code of an unloaded assembly has
/// gone, and its addresses may be in use again, described by a section further down the list.
Result<bool> RangeSections::is_being_deleted(Address section) const {
  const Field next = memory_.layouts().range_section.next_for_delete;
  if (!next) return false;
  auto value = memory_.pointer(section, next);
  if (!value) return fail(value.error());
  return *value != 0;
}

Result<RangeSection> RangeSections::find(Address address) {
  auto it = std::upper_bound(known_.begin(), known_.end(), address,
                             [](Address a, const RangeSection& s) { return a < s.range.begin; });
  if (it != known_.begin() && std::prev(it)->range.contains(address)) return *std::prev(it);

  auto fragment = leaf(address);
  if (!fragment) return fail(fragment.error());
  const auto& l = memory_.layouts().range_section_fragment;
  Address at = *fragment;
  for (unsigned n = 0; at != 0; n++) {
    if (n == kMaxFragments) return fail(ErrorCode::limit_exceeded, *fragment);
    auto begin = memory_.pointer(at, l.range_begin);
    auto end = memory_.pointer(at, l.range_end_open);
    auto section = memory_.pointer(at, l.range_section);
    auto next = memory_.pointer(at, l.next);
    if (!begin || !end || !section || !next) return fail(ErrorCode::unreadable_memory, at);
    const bool covers = AddressRange{*begin, *end}.contains(address);
    const auto is_stale = covers ? is_being_deleted(*section) : Result<bool>(true);
    if (!is_stale) return fail(is_stale.error());
    if (!*is_stale) {
      auto s = read_section(*section);
      if (!s) return s;
      if (!s->range.contains(address)) return fail(ErrorCode::malformed, *section);
      known_.insert(it, *s);
      return s;
    }
    at = *next & ~Address{1};
  }
  return RangeSection{};
}

}  // namespace mixstack::dotnet
