// Where the garbage collector keeps its heaps and its numbers, however a release tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dotnet/contracts/diagnosis.h"
#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// Places only: what lies there is read by who needs it, and may have changed since. Plain data.
struct Collector {
  /// Where one heap keeps its table of generations, and pointers at its newest region, at the end of what is allocated
  /// there, and at its finalizer queue.
  struct Heap {
    Address generation_table = 0, newest_region = 0, allocated = 0, finalize_queue = 0;
  };

  bool is_server = false;
  Heap only;                        ///< a workstation's
  Address heap_count = 0;           ///< of a server; 32 bits
  Address heap_pointers = 0;        ///< pointers at them
  GcHeapLayout heap_fields;         ///< of each of them
  GenerationLayout generation;      ///< one of the table
  HeapSegmentLayout segment;        ///< one region, or segment
  Field fill_pointers;              ///< of a finalizer queue
  Address invalid = 0;              ///< 32 bits: not zero while a collection works on the heap
  Address background_state = 0;     ///< 32 bits; 0: not described
  AddressRange mechanisms;          ///< counts of collections by what they did; empty: not described (.NET 10's server)
  AddressRange counts_of_heap;      ///< without mechanisms: such counts of the first heap; else empty
  Address handle_table_map = 0;     ///< the first map of its handle tables; 0: not described
  Address bookkeeping = 0;          ///< pointer at its cards and marks; 0: not described
  Address lowest = 0, highest = 0;  ///< pointers at the bounds of all regions
};

/// `not_found`: the collector has not started when its descriptor was read; `contract_unsupported`: a version that is
/// not known; `field_unavailable`: it does not tell, or not as is known.
[[nodiscard]] Diagnosed<Collector> find_collector(const RuntimeMemory& memory, Address dac_table);

/// A server's heaps, or the only one; none where they cannot be read, or are too many.
[[nodiscard]] std::vector<Collector::Heap> heaps_of(const RuntimeMemory& memory, const Collector& collector);

// Implementations, by release.
[[nodiscard]] std::optional<Collector> collector_by_dac_table(const RuntimeMemory& memory, Address dac_table);
[[nodiscard]] std::optional<Collector> collector_by_descriptor(const RuntimeMemory& memory);

}  // namespace mixstack::dotnet
