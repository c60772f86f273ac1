#include "dotnet/objects/gc_heap.h"

#include <algorithm>

namespace mixstack::dotnet::objects {
namespace {

// Entries of g_dacTable (src/coreclr/inc/dacvars.h), as 10.0 has them.
enum DacTable : unsigned {
  kThreadStore = 15,
  kSuspensionThread = 17,
  kHeapType = 18,
  kGcDacGlobals = 19,
  kAppDomain = 20,
  kLowestAddress = 37,
  kHighestAddress = 38,
  kObjectMethodTable = 42
};
constexpr std::uint32_t kWorkstation = 1, kServer = 2;  // GC_HEAP_TYPE (src/coreclr/gc/gcinterface.h)

// GcDacVars: version, two sizes, then pointers at variables.
constexpr std::uint8_t kMajor = 2, kMinor = 4;
constexpr std::uint32_t kGenerationSize = 8, kGenerationCount = 16, kVariables = 24;
enum GcVariable : unsigned {
  kMechanisms = 2,
  kGenerationTable = 3,
  kBackgroundState = 6,
  kEphemeralSegment = 7,
  kAllocAllocated = 12,
  kFinalizeQueue = 15,
  kHeapCount = 19,
  kHeaps = 20,
  kStructuresInvalid = 21,
  kHeapFields = 27,
  kGenerationFields = 28
};
constexpr unsigned kCollections = 4;        // of gc_global_mechanisms
constexpr std::uint32_t kNoBackground = 2;  // c_gc_state_free
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
constexpr unsigned kGenerations = 5;  // with the large and the pinned objects'

/// CFinalize's fill pointers (src/coreclr/gc/gcpriv.h): from the second of these to the last one lie ready objects.
constexpr unsigned kFirstReady = 4, kLastReady = 6;

}  // namespace

Address GcHeapReader::entry(unsigned index) const { return memory_.pointer_at(dac_table_ + 8u * index).value_or(0); }

Address GcHeapReader::variable(unsigned index) const {
  return memory_.pointer_at(variables_ + kVariables + 8u * index).value_or(0);
}

Address GcHeapReader::through(unsigned index) const {
  const Address at = variable(index);
  return at == 0 ? 0 : memory_.pointer_at(at).value_or(0);
}

std::optional<std::uint32_t> GcHeapReader::offset(unsigned table, unsigned index) const {
  const Address at = variable(table);
  if (at == 0) return std::nullopt;
  const auto value = memory_.reader().read<std::uint32_t>(at + 4u * index);
  return value && *value < kMostOffset ? std::optional(*value) : std::nullopt;
}

/// The table's order proves itself by entries that the descriptor tells, too.
bool GcHeapReader::find_variables() {
  const GlobalValues& g = memory_.layouts().globals;
  if (variables_ != 0) return true;
  if (dac_table_ == 0 || memory_.pointer_size() != 8 || memory_.layouts().is_windows) return false;
  if (!g.thread_store || entry(kThreadStore) != g.thread_store.value) return false;
  if (!g.app_domain || entry(kAppDomain) != g.app_domain.value) return false;
  if (!g.object_method_table || entry(kObjectMethodTable) != g.object_method_table.value) return false;
  if (!g.gc_thread || entry(kSuspensionThread) != g.gc_thread.value) return false;
  const Address at = memory_.pointer_at(entry(kGcDacGlobals)).value_or(0);
  const auto major = memory_.reader().read<std::uint8_t>(at);
  const auto minor = memory_.reader().read<std::uint8_t>(at + 1);
  const auto size = memory_.reader().read<std::uint64_t>(at + kGenerationSize);
  const auto count = memory_.reader().read<std::uint64_t>(at + kGenerationCount);
  if (at == 0 || !major || !minor || *major != kMajor || *minor < kMinor || !size || !count) return false;
  if (*size < 64 || *size > kMostOffset || *count != kGenerations) return false;
  variables_ = at;
  generation_size_ = *size;
  return true;
}

std::vector<GcHeapReader::OneHeap> GcHeapReader::heaps(bool is_server) const {
  if (!is_server)
    return {
        {variable(kGenerationTable), through(kEphemeralSegment), through(kAllocAllocated), through(kFinalizeQueue)}};
  const auto count = memory_.reader().read<std::uint32_t>(variable(kHeapCount));
  const Address table = through(kHeaps);
  const auto generations = offset(kHeapFields, kHeapGenerations), allocated = offset(kHeapFields, kHeapAllocated),
             segment = offset(kHeapFields, kHeapSegment), queue = offset(kHeapFields, kHeapFinalizeQueue);
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
  const auto start = offset(kGenerationFields, kStartSegment);
  if (!start || *start + 8 > generation_size_ || heap.generations == 0) return false;
  for (std::uint64_t g = 0; g <= kMaxGeneration; g++) {
    Address at = memory_.pointer_at(heap.generations + g * generation_size_ + *start).value_or(0);
    if (at == 0 && g == 0) return false;
    for (std::size_t n = 0; at != 0; n++) {
      const auto s = memory_.reader().read<Segment>(at);
      if (!s || n == kMostRegions || out.regions.size() == kMostRegions) return false;
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
  const auto type = memory_.reader().read<std::uint32_t>(entry(kHeapType));
  if (!type || (*type != kWorkstation && *type != kServer)) return refuse_with("the kind of the heap is not known");
  bounds_ = {memory_.pointer_at(entry(kLowestAddress)).value_or(0),
             memory_.pointer_at(entry(kHighestAddress)).value_or(0)};
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
  const auto invalid = memory_.reader().read<std::int32_t>(variable(kStructuresInvalid));
  out.state.is_walkable = invalid && *invalid == 0;
  const auto background = memory_.reader().read<std::uint32_t>(variable(kBackgroundState));
  out.state.in_background = background && *background != kNoBackground;
  if (const Address mechanisms = variable(kMechanisms); mechanisms != 0)
    if (const auto n = memory_.reader().read<std::uint64_t>(mechanisms + 8u * kCollections)) out.state.collections = *n;
  return out;
}

bool GcHeapReader::is_moving() {
  const auto by = memory_.through(memory_.layouts().globals.gc_thread);
  if (!by || *by != 0) return true;
  if (!find_variables()) return true;
  const auto invalid = memory_.reader().read<std::int32_t>(variable(kStructuresInvalid));
  return !invalid || *invalid != 0;
}

}  // namespace mixstack::dotnet::objects
