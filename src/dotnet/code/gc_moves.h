// Whether objects may have moved, or been freed, between two moments: what the garbage collector counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "dotnet/code/runtime_memory.h"

namespace mixstack::dotnet {

/// Where the collector's own counts lie.
struct GcCounts {
  static constexpr std::size_t kWords = 6;
  using Values = std::array<std::uint64_t, kWords>;

  Address counts = 0;   ///< words: collections that were concurrent, compacting, promoting, ...
  Address invalid = 0;  ///< 32 bits: not zero while a collection works on the heap
  [[nodiscard]] AddressRange range() const { return {counts, counts + sizeof(Values)}; }
};

/// No descriptor of .NET 10 tells them: they are found through the table that the runtime makes for its DAC, which must
/// agree with what the descriptor does tell of it. Nothing where it does not, or has another version.
/// Source: src/coreclr/debug/ee/dactable.cpp, src/coreclr/inc/dacvars.h, src/coreclr/gc/gcinterface.dac.h (GcDacVars),
/// gc_global_mechanisms and record_global_mechanisms in src/coreclr/gc/gc.cpp.
[[nodiscard]] std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table);

/// The counts as `memory` has them; nothing while a collection works, or where they cannot be read. They are counted up
/// at the end of a collection, before threads go on: of two equal answers no collection ended in between, and what was
/// read after the first, and before the second was asked for, is of objects that lie where they lay.
[[nodiscard]] std::optional<GcCounts::Values> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at);

}  // namespace mixstack::dotnet
