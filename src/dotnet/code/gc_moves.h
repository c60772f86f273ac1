// Whether objects may have moved, or been freed, between two moments: what the garbage collector counts.
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

/// By what the collector tells (Collector); nothing where it does not. Of a server's heaps in .NET 10 the first counts
/// for all: they are collected together. Source: dac_gcheap_fields.h, record_global_mechanisms and
/// record_interesting_info_per_heap of gc.cpp, in src/coreclr/gc.
[[nodiscard]] std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table);

/// The counts as `memory` has them; nothing while a collection works, or where they cannot be read. They are counted up
/// at the end of a collection, before threads go on: of two equal answers no collection ended in between, and what was
/// read after the first, and before the second was asked for, is of objects that lie where they lay.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at);

}  // namespace mixstack::dotnet
