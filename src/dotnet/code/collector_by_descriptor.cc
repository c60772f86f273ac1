// .NET 11: the collector has a descriptor of its own (contract GC, docs/design/datacontracts/GC.md in dotnet/runtime).
#include "dotnet/code/collector.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint64_t kGenerations = 5;  // with the large and the pinned objects'
constexpr std::uint32_t kLeastSize = 16, kMostSize = 1 << 16;
constexpr std::uint64_t kFillPointers = 7, kLeastMechanisms = 5, kMostMechanisms = 64;

bool has(const Global& global) { return global && global.value != 0; }

/// Every structure is described, and its sizes and counts are the known ones.
bool agrees(const CollectorLayout& c) {
  const CollectorGlobals& g = c.globals;
  const HeapSegmentLayout& s = c.segment;
  if (!s.allocated || !s.reserved || !s.mem || !s.flags || !s.next || !c.finalize_queue.fill_pointers) return false;
  if (!c.generation.start_segment || c.generation.size < kLeastSize || c.generation.size > kMostSize) return false;
  if (c.generation.start_segment.offset > c.generation.size - 8) return false;
  if (!has(g.structure_invalid_count) || !has(g.lowest_address) || !has(g.highest_address)) return false;
  if (g.generation_count.value != kGenerations || g.fill_pointers_length.value != kFillPointers) return false;
  if (g.is_server) return has(g.heap_count) && has(g.heaps);
  return has(g.generation_table) && has(g.alloc_allocated) && has(g.ephemeral_heap_segment) && has(g.finalize_queue);
}

}  // namespace

std::optional<Collector> collector_by_descriptor(const RuntimeMemory& memory) {
  const CollectorLayout& c = memory.layouts().collector;
  if (!agrees(c)) return std::nullopt;
  const CollectorGlobals& g = c.globals;
  Collector found;
  found.is_server = g.is_server;
  found.only = {g.generation_table.value, g.ephemeral_heap_segment.value, g.alloc_allocated.value,
                g.finalize_queue.value};
  found.heap_count = g.heap_count.value;
  found.heap_pointers = g.heaps.value;
  found.heap_fields = c.heap;
  found.generation = c.generation;
  found.segment = c.segment;
  found.fill_pointers = c.finalize_queue.fill_pointers;
  found.invalid = g.structure_invalid_count.value;
  found.background_state = g.current_state.value;
  const std::uint64_t words = g.mechanisms_length.value;
  if (has(g.global_mechanisms) && words >= kLeastMechanisms && words <= kMostMechanisms)
    found.mechanisms = {g.global_mechanisms.value, g.global_mechanisms.value + 8 * words};
  found.handle_table_map = g.handle_table_map.value;
  found.bookkeeping = g.bookkeeping_start.value;
  found.lowest = g.lowest_address.value;
  found.highest = g.highest_address.value;
  return found;
}

}  // namespace mixstack::dotnet
