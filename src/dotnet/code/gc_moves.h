// Whether objects may have moved, or been freed, between two moments: by the counts of the garbage collector.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// Where the collector's own counts lie.
struct GcCounts {
  /// Words of which at least one grows with each collection that moves objects: how many were compacting, promoting,
  /// for which reasons.
  AddressRange counts;
  Address invalid = 0;  ///< 32 bits: not zero while a collection works on the heap
};

/// Found through the collector (Collector); nothing where it does not tell. In .NET 10 with a server GC the counts of
/// the first heap stand for all heaps, because they are collected together. Source: dac_gcheap_fields.h,
/// record_global_mechanisms and record_interesting_info_per_heap of gc.cpp, in src/coreclr/gc.
[[nodiscard]] std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table);

/// The counts as `memory` has them; nothing while a collection works, or where they cannot be read. The collector
/// counts at the end of a collection, before threads go on. So if two answers are equal, no collection ended in
/// between, and objects read after the first and before the second have not moved.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at);

}  // namespace mixstack::dotnet
