#include "dotnet/heap/gc_regions.h"

#include <algorithm>
#include <array>
#include <span>

#include "dotnet/code/threads.h"
#include "dotnet/heap/aot_collector.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint64_t kFrozen = 1;  // heap_segment_flags_readonly (src/coreclr/gc/gcpriv.h)
constexpr unsigned kGenerations = 5, kOldest = 2;
constexpr unsigned kCollections = 4;  // of gc_global_mechanisms
constexpr std::uint64_t kMostOfContext = std::uint64_t{1} << 32;

tl::unexpected<Diagnosis> refuse(const char* text) {
  return tl::unexpected<Diagnosis>({{ErrorCode::field_unavailable, 0, 0}, "GC", text});
}

constexpr HeapGeneration generation_of(unsigned index) { return static_cast<HeapGeneration>(index); }

}  // namespace

Diagnosed<void> GcRegionReader::find() {
  if (collector_) return {};
  auto found = find_collector(memory_, dac_table_);
  if (!found) return tl::unexpected(found.error());
  collector_ = *found;
  return {};
}

bool GcRegionReader::add(GcRegion region, GcRegions& out) const {
  if (region.objects.begin == region.objects.end && region.committed <= region.objects.end) return true;
  const AddressRange& o = region.objects;
  const bool is_frozen = region.generation == HeapGeneration::frozen;  // those of images may lie anywhere
  if (o.begin % 8 != 0 || o.end < o.begin || o.end > region.reserved || region.committed > region.reserved)
    return false;
  if (!is_frozen && (o.begin < bounds_.begin || region.reserved > bounds_.end)) return false;
  if (out.regions.size() == kMostRegions) return false;
  out.regions.push_back(region);
  return true;
}

/// With segments the youngest generations lie inside the last segment of the oldest one's list: up to where generation
/// 1 begins it is the oldest, then 1, then 0.
bool GcRegionReader::add_list(const Collector::Heap& heap, unsigned generation, GcRegions& out) {
  const auto& [size, start, allocation_start] = collector_->generation;
  const HeapSegmentLayout& at = collector_->segment;
  const Address newest = memory_.pointer_at(heap.newest_region).value_or(0);
  const Address allocated = memory_.pointer_at(heap.allocated).value_or(0);
  Address segment = memory_.pointer(heap.generation_table + generation * std::uint64_t{size}, start).value_or(0);
  for (std::size_t n = 0; segment != 0; n++) {
    const auto end = memory_.pointer(segment, at.allocated), reserved = memory_.pointer(segment, at.reserved),
               mem = memory_.pointer(segment, at.mem), flags = memory_.pointer(segment, at.flags),
               next = memory_.pointer(segment, at.next);
    is_missing_ = !end || !reserved || !mem || !flags || !next;
    if (is_missing_ || n == kMostRegions) return false;
    const Address committed = at.committed ? memory_.pointer(segment, at.committed).value_or(*end) : *end;
    const HeapGeneration of = (*flags & kFrozen) != 0 ? HeapGeneration::frozen : generation_of(generation);
    if (allocation_start && segment == newest) {
      const auto start_of = [&, bytes = std::uint64_t{size}, field = allocation_start](unsigned g) {
        return memory_.pointer(heap.generation_table + g * bytes, field).value_or(0);
      };
      const Address one = start_of(1), zero = start_of(0);
      if (!(*mem <= one && one <= zero && zero <= allocated)) return false;
      if (!add({{*mem, one}, one, one, HeapGeneration::two}, out) ||
          !add({{one, zero}, zero, zero, HeapGeneration::one}, out) ||
          !add({{zero, allocated}, std::max(committed, allocated), *reserved, HeapGeneration::zero}, out))
        return false;
    } else {
      const Address last = segment == newest ? allocated : *end;
      if (!add({{*mem, last}, std::max(committed, last), *reserved, of}, out)) return false;
    }
    segment = *next;
  }
  return true;
}

bool GcRegionReader::add_heap(const Collector::Heap& heap, GcRegions& out) {
  const auto& [size, start, allocation_start] = collector_->generation;
  if (!start || start.offset + std::uint64_t{8} > size || heap.generation_table == 0) return false;
  for (unsigned g = allocation_start ? kOldest : 0; g < kGenerations; g++)
    if (!add_list(heap, g, out)) return false;
  add_context(heap.generation_table, out);  // generation 0's own lies at its begin
  return true;
}

void GcRegionReader::add_context(Address at, GcRegions& out) const {
  const GCAllocContextLayout& l = memory_.layouts().gc_alloc_context;
  const auto pointer = memory_.pointer(at, l.pointer), limit = memory_.pointer(at, l.limit);
  if (!pointer || !limit || *pointer == 0 || *limit < *pointer || *limit - *pointer > kMostOfContext) return;
  out.contexts.push_back({*pointer, *limit});
}

void GcRegionReader::add_threads(GcRegions& out) const {
  const Layouts& l = memory_.layouts();
  const Field inner = l.ee_alloc_context.gc_allocation_context;
  if (l.thread.alloc_context && inner) {
    std::size_t threads = 0;
    (void)visit_thread_objects(memory_, [&](Address thread, bool& goes_on) {
      add_context(thread + l.thread.alloc_context.offset + inner.offset, out);
      goes_on = ++threads < kMaxThreads;
      return Error{};
    });
    return;
  }
  if (l.globals.global_alloc_context && inner) add_context(l.globals.global_alloc_context.value + inner.offset, out);
  if (!l.runtime_thread_locals.alloc_context || !inner) return;
  std::size_t seen = 0;
  visit_threads(memory_, [&](const ManagedThread& thread) {
    const auto locals = memory_.pointer(thread.address, l.thread.runtime_thread_locals);
    if (locals && *locals != 0) add_context(*locals + l.runtime_thread_locals.alloc_context.offset + inner.offset, out);
    return ++seen < kMaxThreads;
  });
}

/// It begins with the collector's card_table_info (src/coreclr/gc/gcpriv.h): {recount, size, next, lowest, highest},
/// the last two being the range that it is of. The mapping says nothing: the kernel makes one of it and its neighbours.
AddressRange GcRegionReader::bookkeeping() const {
  constexpr std::uint64_t kPage = 4096, kMostBytes = std::uint64_t{1} << 42;
  if (collector_->bookkeeping == 0) return {};
  const Address begin = memory_.pointer_at(collector_->bookkeeping).value_or(0);
  std::array<std::uint64_t, 5> info{};
  if (begin == 0 || !memory_.reader().read_exact(begin, std::as_writable_bytes(std::span(info)))) return {};
  const auto [recount, size, next, lowest, highest] = info;
  const bool is_it =
      lowest == bounds_.begin && highest == bounds_.end && size >= kPage && size < kMostBytes && size <= ~begin;
  return is_it ? AddressRange{begin, begin + size} : AddressRange{};
}

Diagnosed<GcRegions> GcRegionReader::read() {
  if (auto found = find(); !found) return tl::unexpected(found.error());
  bounds_ = {memory_.pointer_at(collector_->lowest).value_or(0), memory_.pointer_at(collector_->highest).value_or(0)};
  GcRegions out;
  out.is_server = collector_->is_server;
  out.bounds = bounds_;
  out.has_segments = collector_->generation.allocation_start.present();
  out.bookkeeping = bookkeeping();
  const auto all = heaps_of(memory_, *collector_);
  if (all.empty()) return refuse("its heaps cannot be found");
  out.heaps = static_cast<std::uint32_t>(all.size());
  for (const Collector::Heap& heap : all)
    if (!add_heap(heap, out))
      return refuse(is_missing_
                        ? "its regions cannot be read; a core of a single-file program has them only if it is a "
                          "full one (createdump -u)"
                        : "its regions are not as is known, or were changed meanwhile");
  add_threads(out);
  std::sort(out.regions.begin(), out.regions.end(),
            [](const GcRegion& a, const GcRegion& b) { return a.objects.begin < b.objects.begin; });
  for (std::size_t i = 0; i < out.regions.size(); i++) {
    const GcRegion& r = out.regions[i];
    if (i != 0 && r.objects.begin < out.regions[i - 1].objects.end) return refuse("its regions overlap");
    out.bytes[static_cast<std::size_t>(r.generation)] += r.objects.size();
    out.count[static_cast<std::size_t>(r.generation)]++;
  }
  std::sort(out.contexts.begin(), out.contexts.end(),
            [](const AllocationContext& a, const AllocationContext& b) { return a.pointer < b.pointer; });
  return out;
}

bool GcRegionReader::is_suspended() const {
  if (memory_.layouts().is_native_aot) return are_threads_locked(memory_).value_or(false);
  const auto by = memory_.through(memory_.layouts().globals.gc_thread);
  return !by || *by != 0;
}

bool GcRegionReader::is_moving() {
  if (is_suspended() || !find()) return true;
  const auto invalid = memory_.reader().read<std::int32_t>(collector_->invalid);
  return !invalid || *invalid != 0;
}

std::optional<std::uint64_t> GcRegionReader::collections() {
  if (!find()) return std::nullopt;
  const AddressRange& counts = collector_->mechanisms;
  if (counts.size() <= 8u * kCollections) return std::nullopt;
  const auto n = memory_.reader().read<std::uint64_t>(counts.begin + 8u * kCollections);
  return n ? std::optional(*n) : std::nullopt;
}

std::uint32_t GcRegionReader::background() {
  constexpr std::uint32_t kNone = 2;
  if (!find() || collector_->background_state == 0) return kNone;
  return memory_.reader().read<std::uint32_t>(collector_->background_state).value_or(kNone);
}

}  // namespace mixstack::dotnet::objects
