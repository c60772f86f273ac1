#include "dotnet/heap/gc_heap.h"

#include <algorithm>
#include <unordered_set>

namespace mixstack::dotnet::objects {
namespace {

constexpr unsigned kCollections = 4;        // of gc_global_mechanisms
constexpr std::uint32_t kNoBackground = 2;  // c_gc_state_free

/// Flags of a segment (src/coreclr/gc/gcpriv.h).
constexpr std::uint64_t kReadOnly = 1, kLarge = 8, kPinned = 0x200;
constexpr std::uint64_t kMaxGeneration = 2;
constexpr std::uint64_t kLargeObjects = 3, kPinnedObjects = 4;  // loh_generation, poh_generation

/// CFinalize's fill pointers (src/coreclr/gc/gcpriv.h): from the second of these to the last one lie ready objects.
constexpr unsigned kFirstReady = 4, kLastReady = 6;

tl::unexpected<Diagnosis> refuse_with(const char* text) {
  return tl::unexpected<Diagnosis>({{ErrorCode::field_unavailable, 0, 0}, "GC", text});
}

/// The fields read of a heap_segment.
struct Segment {
  Address allocated = 0, reserved = 0, mem = 0, flags = 0, next = 0;
};

std::optional<Segment> read_segment(const RuntimeMemory& memory, const HeapSegmentLayout& at, Address segment) {
  const auto allocated = memory.pointer(segment, at.allocated), reserved = memory.pointer(segment, at.reserved),
             mem = memory.pointer(segment, at.mem), flags = memory.pointer(segment, at.flags),
             next = memory.pointer(segment, at.next);
  if (!allocated || !reserved || !mem || !flags || !next) return std::nullopt;
  return Segment{*allocated, *reserved, *mem, *flags, *next};
}

}  // namespace

Diagnosed<void> GcHeapReader::find() {
  if (collector_) return {};
  auto found = find_collector(memory_, dac_table_);
  if (!found) return tl::unexpected(found.error());
  collector_ = *found;
  return {};
}

bool GcHeapReader::add_regions_from(Address segment, const Heap& heap, std::unordered_set<Address>& seen,
                                    GcHeap& out) const {
  const Address newest = memory_.pointer_at(heap.newest_region).value_or(0);
  const Address allocated = memory_.pointer_at(heap.allocated).value_or(0);
  for (std::size_t n = 0; segment != 0; n++) {
    const auto s = read_segment(memory_, collector_->segment, segment);
    if (!s || n == kMostRegions || out.regions.size() == kMostRegions) return false;
    if (!seen.insert(segment).second) {
      segment = s->next;
      continue;
    }
    const bool is_left_out = (s->flags & (kReadOnly | kLarge | kPinned)) != 0;
    const Address end = segment == newest ? allocated : s->allocated;
    segment = s->next;
    if (is_left_out || end == s->mem) continue;
    const bool is_sane =
        s->mem % 8 == 0 && s->mem < end && end <= s->reserved && s->mem >= bounds_.begin && end <= bounds_.end;
    if (!is_sane) return false;
    out.regions.push_back({s->mem, end & ~Address{7}});
  }
  return true;
}

bool GcHeapReader::add_regions(const Heap& heap, GcHeap& out) const {
  const auto& [size, start, allocation_start] = collector_->generation;
  if (!start || start.offset + std::uint64_t{8} > size || heap.generation_table == 0) return false;
  // A collector with segments has the youngest generations in one segment, which ends the list of the oldest: each is
  // met once for every generation.
  std::unordered_set<Address> seen;
  for (std::uint64_t g = 0; g <= kMaxGeneration; g++) {
    const Address segment = memory_.pointer(heap.generation_table + g * size, start).value_or(0);
    if (segment == 0 && g == 0) return false;
    if (!add_regions_from(segment, heap, seen, out)) return false;
  }
  return true;
}

/// Large and pinned objects have generations of their own. Nothing reads these objects: their bytes are counted only.
std::optional<std::uint64_t> GcHeapReader::large_bytes(const Heap& heap) const {
  const auto& [size, start, allocation_start] = collector_->generation;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (std::uint64_t g = kLargeObjects; g <= kPinnedObjects; g++) {
    Address segment = memory_.pointer(heap.generation_table + g * size, start).value_or(0);
    for (; segment != 0 && count < kMostRegions; count++) {
      const auto s = read_segment(memory_, collector_->segment, segment);
      if (!s || s->mem > s->allocated || s->allocated > s->reserved || s->mem < bounds_.begin ||
          s->reserved > bounds_.end)
        return std::nullopt;
      bytes += s->allocated - s->mem;
      segment = s->next;
    }
    if (segment != 0) return std::nullopt;
  }
  return bytes;
}

std::uint64_t GcHeapReader::finalizable(const Heap& heap) const {
  const Address queue = memory_.pointer_at(heap.finalize_queue).value_or(0);
  if (queue == 0 || !collector_->fill_pointers) return 0;
  const Address fill = queue + collector_->fill_pointers.offset;
  const auto first = memory_.pointer_at(fill + 8u * kFirstReady);
  const auto last = memory_.pointer_at(fill + 8u * kLastReady);
  if (!first || !last || *last < *first) return 0;
  constexpr std::uint64_t kMostReady = 1 << 28;  // more is no number of objects
  const std::uint64_t ready = (*last - *first) / 8;
  return ready < kMostReady ? ready : 0;
}

bool GcHeapReader::is_invalid() const {
  const auto invalid = memory_.reader().read<std::int32_t>(collector_->invalid);
  return !invalid || *invalid != 0;
}

void GcHeapReader::read_state(GcState& state) const {
  state.is_walkable = !is_invalid();
  const auto background = memory_.reader().read<std::uint32_t>(collector_->background_state);
  state.in_background = background && *background != kNoBackground;
  const AddressRange& counts = collector_->mechanisms;
  if (counts.size() <= 8u * kCollections) return;
  if (const auto n = memory_.reader().read<std::uint64_t>(counts.begin + 8u * kCollections)) state.collections = *n;
}

Diagnosed<GcHeap> GcHeapReader::read() {
  if (auto found = find(); !found) return tl::unexpected(found.error());
  bounds_ = {memory_.pointer_at(collector_->lowest).value_or(0), memory_.pointer_at(collector_->highest).value_or(0)};
  GcHeap out;
  out.state.is_server = collector_->is_server;
  const auto all = heaps_of(memory_, *collector_);
  if (all.empty()) return refuse_with("its heaps cannot be found");
  out.state.heaps = static_cast<std::uint32_t>(all.size());
  std::optional<std::uint64_t> large = 0;
  for (const Heap& heap : all) {
    if (!add_regions(heap, out)) return refuse_with("its regions are not as is known, or were changed meanwhile");
    out.state.finalizable += finalizable(heap);
    const auto of_heap = large_bytes(heap);
    large = large && of_heap ? std::optional(*large + *of_heap) : std::nullopt;
  }
  out.state.large_bytes = large;
  std::sort(out.regions.begin(), out.regions.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < out.regions.size(); i++) {
    if (i != 0 && out.regions[i].begin < out.regions[i - 1].end) return refuse_with("its regions overlap");
    out.state.bytes += out.regions[i].size();
    if (out.state.bytes > kMostBytes) return refuse_with("its regions are larger than any heap");
  }
  read_state(out.state);
  return out;
}

bool GcHeapReader::is_moving() {
  const auto by = memory_.through(memory_.layouts().globals.gc_thread);
  if (!by || *by != 0 || !find()) return true;
  return is_invalid();
}

}  // namespace mixstack::dotnet::objects
