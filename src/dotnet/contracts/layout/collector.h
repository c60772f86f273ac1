// The garbage collector (src/coreclr/gc/datadescriptor/datadescriptor.inc), as its own descriptor tells it (.NET 11).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct GenerationLayout {
  std::uint32_t size = 0;
  Field start_segment;
  Field allocation_start{};  ///< collectors with segments only: where it begins in the segment of the youngest

  template <class Names>
  void describe(Names& names) {
    names.type("Generation", size);
    names.field(start_segment, "StartSegment");
    names.field(allocation_start, "AllocationStart");
  }
};

struct HeapSegmentLayout {
  Field allocated, reserved, mem, flags, next;
  Field committed{};

  template <class Names>
  void describe(Names& names) {
    names.type("HeapSegment");
    names.field(allocated, "Allocated");
    names.field(reserved, "Reserved");
    names.field(mem, "Mem");
    names.field(flags, "Flags");
    names.field(next, "Next");
    names.field(committed, "Committed");
  }
};

/// One of a server's heaps.
struct GcHeapLayout {
  Field generation_table;  ///< the table itself
  Field alloc_allocated, ephemeral_heap_segment, finalize_queue;

  template <class Names>
  void describe(Names& names) {
    names.type("GCHeap");
    names.field(generation_table, "GenerationTable");
    names.field(alloc_allocated, "AllocAllocated");
    names.field(ephemeral_heap_segment, "EphemeralHeapSegment");
    names.field(finalize_queue, "FinalizeQueue");
  }
};

struct FinalizeQueueLayout {
  Field fill_pointers;  ///< an array

  template <class Names>
  void describe(Names& names) {
    names.type("CFinalize");
    names.field(fill_pointers, "FillPointers");
  }
};

/// Addresses of its variables, and how many parts some have. A server has heaps in place of the first four.
struct CollectorGlobals {
  bool is_server = false;  ///< by the text that says which collector it is
  Global generation_table, alloc_allocated, ephemeral_heap_segment, finalize_queue;
  Global heap_count, heaps;
  Global structure_invalid_count, current_state, global_mechanisms;
  Global lowest_address, highest_address;
  Global bookkeeping_start, handle_table_map;
  Global generation_count, mechanisms_length, fill_pointers_length;

  template <class Names>
  void describe(Names& names) {
    names.global(generation_table, "GCHeapGenerationTable");
    names.global(alloc_allocated, "GCHeapAllocAllocated");
    names.global(ephemeral_heap_segment, "GCHeapEphemeralHeapSegment");
    names.global(finalize_queue, "GCHeapFinalizeQueue");
    names.global(heap_count, "NumHeaps");
    names.global(heaps, "Heaps");
    names.global(structure_invalid_count, "StructureInvalidCount");
    names.global(current_state, "CurrentGCState");
    names.global(global_mechanisms, "GCGlobalMechanisms");
    names.global(lowest_address, "GCLowestAddress");
    names.global(highest_address, "GCHighestAddress");
    names.global(bookkeeping_start, "BookkeepingStart");
    names.global(handle_table_map, "HandleTableMap");
    names.global(generation_count, "TotalGenerationCount");
    names.global(mechanisms_length, "GlobalMechanismsLength");
    names.global(fill_pointers_length, "CFinalizeFillPointersLength");
  }
};

/// All of it.
struct CollectorLayout {
  GenerationLayout generation;
  HeapSegmentLayout segment;
  GcHeapLayout heap;
  FinalizeQueueLayout finalize_queue;
  CollectorGlobals globals;

  template <class Names>
  void describe(Names& names) {
    generation.describe(names);
    segment.describe(names);
    heap.describe(names);
    finalize_queue.describe(names);
    globals.describe(names);
  }
};

}  // namespace mixstack::dotnet
