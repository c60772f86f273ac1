#include "dotnet/code/collector.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kMostHeaps = 1024;

tl::unexpected<Diagnosis> refuse_with(ErrorCode code, const char* text) {
  return tl::unexpected<Diagnosis>({{code, 0, 0}, "GC", text});
}

std::optional<Collector> find(const RuntimeMemory& memory, Address dac_table) {
  if (memory.pointer_size() != 8 || memory.layouts().is_windows) return std::nullopt;
  return memory.layouts().algorithms.collector == CollectorPlaces::descriptor
             ? collector_by_descriptor(memory)
             : collector_by_dac_table(memory, dac_table);
}

}  // namespace

Diagnosed<Collector> find_collector(const RuntimeMemory& memory, Address dac_table) {
  const CollectorPlaces places = memory.layouts().algorithms.collector;
  if (places == CollectorPlaces::not_started)
    return refuse_with(ErrorCode::not_found, "the collector had not started, or does not describe itself");
  if (places == CollectorPlaces::not_known)
    return refuse_with(ErrorCode::contract_unsupported,
                       "the collector describes itself in a version that is not known");
  auto found = find(memory, dac_table);
  if (!found)
    return refuse_with(ErrorCode::field_unavailable,
                       "the runtime's GC does not tell where its heap lies, or not as is known");
  return std::move(*found);
}

std::vector<Collector::Heap> heaps_of(const RuntimeMemory& memory, const Collector& collector) {
  if (!collector.is_server) return {collector.only};
  const GcHeapLayout& fields = collector.heap_fields;
  if (!fields.generation_table || !fields.alloc_allocated || !fields.ephemeral_heap_segment || !fields.finalize_queue)
    return {};
  const auto count = memory.reader().read<std::uint32_t>(collector.heap_count);
  const Address table = memory.pointer_at(collector.heap_pointers).value_or(0);
  if (!count || *count == 0 || *count > kMostHeaps || table == 0) return {};
  std::vector<Collector::Heap> all;
  for (std::uint32_t i = 0; i < *count; i++) {
    const Address heap = memory.pointer_at(table + 8u * i).value_or(0);
    if (heap == 0) return {};
    all.push_back({heap + fields.generation_table.offset, heap + fields.ephemeral_heap_segment.offset,
                   heap + fields.alloc_allocated.offset, heap + fields.finalize_queue.offset});
  }
  return all;
}

}  // namespace mixstack::dotnet
