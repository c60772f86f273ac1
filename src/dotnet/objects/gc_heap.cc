#include "dotnet/objects/gc_heap.h"

#include <algorithm>
#include <unordered_set>

namespace mixstack::dotnet::objects {
namespace {

using V = GcVariables;

constexpr std::uint32_t kWorkstation = 1, kServer = 2;  // GC_HEAP_TYPE (src/coreclr/gc/gcinterface.h)
constexpr unsigned kCollections = 4;                    // of gc_global_mechanisms
constexpr std::uint32_t kNoBackground = 2;              // c_gc_state_free
/// Of gc_heap_field_offsets and generation_field_offsets (src/coreclr/gc/dac_gcheap_fields.h, dac_generation_fields.h).
constexpr unsigned kHeapAllocated = 0, kHeapSegment = 1, kHeapFinalizeQueue = 2, kHeapGenerations = 18;
constexpr unsigned kStartSegment = 1;
constexpr std::uint32_t kMostOffset = 1 << 16;

// dac_heap_segment (src/coreclr/gc/gcinterface.dac.h).
struct Segment {
  std::uint64_t allocated, committed, reserved, used, mem, flags, next;
};
constexpr std::uint64_t kReadOnly = 1, kLarge = 8, kPinned = 0x200;
constexpr std::uint64_t kMaxGeneration = 2;

/// CFinalize's fill pointers (src/coreclr/gc/gcpriv.h): from the second of these to the last one lie ready objects.
constexpr unsigned kFirstReady = 4, kLastReady = 6;

}  // namespace

std::optional<std::uint32_t> GcHeapReader::offset(V::Variable table, unsigned index) const {
  const Address at = variables_->variable(table);
  if (at == 0) return std::nullopt;
  const auto value = memory_.reader().read<std::uint32_t>(at + 4u * index);
  return value && *value < kMostOffset ? std::optional(*value) : std::nullopt;
}

bool GcHeapReader::find_variables() {
  if (!variables_) variables_ = V::find(memory_, dac_table_);
  return variables_.has_value();
}

std::vector<GcHeapReader::OneHeap> GcHeapReader::heaps(bool is_server) const {
  if (!is_server)
    return {{variables_->variable(V::kGenerationTable), variables_->through(V::kEphemeralSegment),
             variables_->through(V::kAllocAllocated), variables_->through(V::kFinalizeQueue)}};
  const auto count = memory_.reader().read<std::uint32_t>(variables_->variable(V::kHeapCount));
  const Address table = variables_->through(V::kHeaps);
  const auto generations = offset(V::kHeapFields, kHeapGenerations), allocated = offset(V::kHeapFields, kHeapAllocated),
             segment = offset(V::kHeapFields, kHeapSegment), queue = offset(V::kHeapFields, kHeapFinalizeQueue);
  if (!count || *count == 0 || *count > kMostHeaps || table == 0) return {};
  if (!generations || !allocated || !segment || !queue) return {};
  std::vector<OneHeap> all;
  for (std::uint32_t i = 0; i < *count; i++) {
    const Address heap = memory_.pointer_at(table + 8u * i).value_or(0);
    if (heap == 0) return {};
    all.push_back({heap + *generations, memory_.pointer_at(heap + *segment).value_or(0),
                   memory_.pointer_at(heap + *allocated).value_or(0), memory_.pointer_at(heap + *queue).value_or(0)});
  }
  return all;
}

bool GcHeapReader::add_regions(const OneHeap& heap, GcHeap& out) const {
  const auto start = offset(V::kGenerationFields, kStartSegment);
  if (!start || *start + 8 > variables_->generation_size() || heap.generations == 0) return false;
  // A collector with segments has the youngest generations in one segment, which ends the list of the oldest: each is
  // met once for every generation.
  std::unordered_set<Address> seen;
  for (std::uint64_t g = 0; g <= kMaxGeneration; g++) {
    Address at = memory_.pointer_at(heap.generations + g * variables_->generation_size() + *start).value_or(0);
    if (at == 0 && g == 0) return false;
    for (std::size_t n = 0; at != 0; n++) {
      const auto s = memory_.reader().read<Segment>(at);
      if (!s || n == kMostRegions || out.regions.size() == kMostRegions) return false;
      if (!seen.insert(at).second) {
        at = s->next;
        continue;
      }
      const bool is_left_out = (s->flags & (kReadOnly | kLarge | kPinned)) != 0;
      const Address end = at == heap.current_region ? heap.allocated : s->allocated;
      at = s->next;
      if (is_left_out || end == s->mem) continue;
      const bool is_sane =
          s->mem % 8 == 0 && s->mem < end && end <= s->reserved && s->mem >= bounds_.begin && end <= bounds_.end;
      if (!is_sane) return false;
      out.regions.push_back({s->mem, end & ~Address{7}});
    }
  }
  return true;
}

std::uint64_t GcHeapReader::finalizable(const OneHeap& heap) const {
  const auto first = memory_.pointer_at(heap.finalize_queue + 8u * kFirstReady);
  const auto last = memory_.pointer_at(heap.finalize_queue + 8u * kLastReady);
  if (heap.finalize_queue == 0 || !first || !last || *last < *first) return 0;
  constexpr std::uint64_t kMostReady = 1 << 28;  // more is no number of objects
  const std::uint64_t ready = (*last - *first) / 8;
  return ready < kMostReady ? ready : 0;
}

Diagnosed<GcHeap> GcHeapReader::read() {
  const auto refuse_with = [](std::string text) {
    return tl::unexpected<Diagnosis>({{ErrorCode::field_unavailable, 0, 0}, "GcDacVars", std::move(text)});
  };
  if (!find_variables()) return refuse_with("the runtime's GC does not tell where its heap lies, or not as is known");
  const auto type = memory_.reader().read<std::uint32_t>(variables_->entry(V::kHeapType));
  if (!type || (*type != kWorkstation && *type != kServer)) return refuse_with("the kind of the heap is not known");
  bounds_ = {memory_.pointer_at(variables_->entry(V::kLowestAddress)).value_or(0),
             memory_.pointer_at(variables_->entry(V::kHighestAddress)).value_or(0)};
  GcHeap out;
  out.state.is_server = *type == kServer;
  const auto all = heaps(out.state.is_server);
  if (all.empty()) return refuse_with("its heaps cannot be found");
  out.state.heaps = static_cast<std::uint32_t>(all.size());
  for (const OneHeap& heap : all) {
    if (!add_regions(heap, out)) return refuse_with("its regions are not as is known, or were changed meanwhile");
    out.state.finalizable += finalizable(heap);
  }
  std::sort(out.regions.begin(), out.regions.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < out.regions.size(); i++) {
    if (i != 0 && out.regions[i].begin < out.regions[i - 1].end) return refuse_with("its regions overlap");
    out.state.bytes += out.regions[i].size();
    if (out.state.bytes > kMostBytes) return refuse_with("its regions are larger than any heap");
  }
  const auto invalid = memory_.reader().read<std::int32_t>(variables_->variable(V::kStructuresInvalid));
  out.state.is_walkable = invalid && *invalid == 0;
  const auto background = memory_.reader().read<std::uint32_t>(variables_->variable(V::kBackgroundState));
  out.state.in_background = background && *background != kNoBackground;
  if (const Address mechanisms = variables_->variable(V::kMechanisms); mechanisms != 0)
    if (const auto n = memory_.reader().read<std::uint64_t>(mechanisms + 8u * kCollections)) out.state.collections = *n;
  return out;
}

bool GcHeapReader::is_moving() {
  const auto by = memory_.through(memory_.layouts().globals.gc_thread);
  if (!by || *by != 0) return true;
  if (!find_variables()) return true;
  const auto invalid = memory_.reader().read<std::int32_t>(variables_->variable(V::kStructuresInvalid));
  return !invalid || *invalid != 0;
}

}  // namespace mixstack::dotnet::objects
