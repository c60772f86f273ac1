// .NET 10: the collector keeps variables for debuggers, which the table that is made for the DAC leads to.
#include "dotnet/code/collector.h"
#include "dotnet/code/gc_variables.h"

namespace mixstack::dotnet {
namespace {

using V = GcVariables;

constexpr std::uint32_t kWorkstation = 1, kServer = 2;  // GC_HEAP_TYPE (src/coreclr/gc/gcinterface.h)
/// Places in gc_heap_field_offsets and generation_field_offsets (src/coreclr/gc/dac_gcheap_fields.h,
/// dac_generation_fields.h). Counts of a heap lie from interesting_data_per_heap on, up to internal_root_array.
constexpr unsigned kHeapAllocated = 0, kHeapSegment = 1, kHeapFinalizeQueue = 2, kHeapFirstCount = 4,
                   kHeapBehindCounts = 8, kHeapGenerations = 18;
constexpr unsigned kStartSegment = 1, kAllocationStart = 2;
constexpr std::uint32_t kMostOffset = 1 << 16, kMostCountBytes = 1024;
constexpr std::uint32_t kMechanismWords = 6;  // global_concurrent to global_elevation

/// dac_heap_segment (src/coreclr/gc/gcinterface.dac.h).
constexpr HeapSegmentLayout kSegmentFields{{0}, {16}, {32}, {40}, {48}, {8}};

Field offset(const RuntimeMemory& memory, const V& variables, V::Variable table, unsigned index) {
  const Address at = variables.variable(table);
  const auto value = at == 0 ? fail(ErrorCode::not_found) : memory.reader().read<std::uint32_t>(at + 4u * index);
  return value && *value < kMostOffset ? Field{*value} : Field{};
}

/// The counts of a server's first heap.
AddressRange counts_of_heap(const RuntimeMemory& memory, const V& variables) {
  const Address array = variables.through(V::kHeaps);
  const Address heap = array == 0 ? 0 : memory.pointer_at(array).value_or(0);
  const Field first = offset(memory, variables, V::kHeapFields, kHeapFirstCount);
  const Field behind = offset(memory, variables, V::kHeapFields, kHeapBehindCounts);
  if (heap == 0 || !first || !behind || first.offset == 0 || behind.offset <= first.offset) return {};
  if (behind.offset - first.offset > kMostCountBytes) return {};
  return {heap + first.offset, heap + behind.offset};
}

}  // namespace

std::optional<Collector> collector_by_dac_table(const RuntimeMemory& memory, Address dac_table) {
  const auto variables = V::find(memory, dac_table);
  if (!variables) return std::nullopt;
  const auto type = memory.reader().read<std::uint32_t>(variables->entry(V::kHeapType));
  if (!type || (*type != kWorkstation && *type != kServer)) return std::nullopt;
  const auto field = [&](V::Variable table, unsigned index) { return offset(memory, *variables, table, index); };
  Collector found;
  found.is_server = *type == kServer;
  found.only = {variables->variable(V::kGenerationTable), variables->variable(V::kEphemeralSegment),
                variables->variable(V::kAllocAllocated), variables->variable(V::kFinalizeQueue)};
  found.heap_count = variables->variable(V::kHeapCount);
  found.heap_pointers = variables->variable(V::kHeaps);
  if (found.is_server)
    found.heap_fields = {field(V::kHeapFields, kHeapGenerations), field(V::kHeapFields, kHeapAllocated),
                         field(V::kHeapFields, kHeapSegment), field(V::kHeapFields, kHeapFinalizeQueue)};
  found.generation = {static_cast<std::uint32_t>(variables->generation_size()),
                      field(V::kGenerationFields, kStartSegment), field(V::kGenerationFields, kAllocationStart)};
  found.segment = kSegmentFields;
  found.fill_pointers = {0};
  found.invalid = variables->variable(V::kStructuresInvalid);
  found.background_state = variables->variable(V::kBackgroundState);
  if (const Address mechanisms = variables->variable(V::kMechanisms); mechanisms != 0)
    found.mechanisms = {mechanisms, mechanisms + 8 * kMechanismWords};
  else
    found.counts_of_heap = counts_of_heap(memory, *variables);
  found.handle_table_map = variables->variable(V::kHandleTableMap);
  found.bookkeeping = variables->variable(V::kBookkeeping);
  found.lowest = variables->entry(V::kLowestAddress);
  found.highest = variables->entry(V::kHighestAddress);
  return found;
}

}  // namespace mixstack::dotnet
