// Where a runtime keeps its counters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/runtime_memory.h"
#include "engine/images/elf_image.h"

namespace mixstack::dotnet::counters {

/// `dynamic_data` of coreclr/gc/gcpriv.h: what the collector knows of a generation in one heap. Its size is the same in
/// .NET 8 to 11.
struct GenerationData {
  static constexpr std::uint32_t kSize = 0xa8, kSurvived = 0x10, kBudget = 0x18, kSizeBefore = 0x20, kSizeAfter = 0x50,
                                 kCollections = 0x58, kFragmentation = 0x70, kClock = 0x78, kStatic = 0xa0;
  static constexpr std::size_t kGenerations = 5;  ///< 0, 1, 2, large, pinned
};

/// `gc_mechanisms settings` of gcpriv.h: what the collector does now, or did last.
struct Settings {
  static constexpr std::uint32_t kNumber = 0, kGeneration = 8, kReason = 0x3c, kMode = 0x40, kSize = 0x44;
};

/// `last_recorded_gc_info` of gcpriv.h.
struct LastInfo {
  static constexpr std::uint32_t kIndex = 0, kCommitted = 8, kHeapSize = 0xe0, kGeneration = 0xf4, kSize = 0xf8;
};

/// Addresses; 0 where a counter was not found. Plain data.
struct CounterPlaces {
  Address exceptions = 0;                                ///< 32 bits
  Address methods = 0, il_bytes = 0, compile_ticks = 0;  ///< 64 bits; ticks of 100 ns
  Address pauses = 0;                                    ///< 64 bits; times `pause_factor` they are ticks of 100 ns
  std::uint64_t pause_factor = 0;
  Address ended_contentions = 0;              ///< 64 bits: of threads that have ended
  Field contentions_of_thread;                ///< 32 bits
  Address settings = 0;                       ///< `Settings`
  Address generations = 0;                    ///< `GenerationData` of the only heap
  Field generations_of_heap;                  ///< the same of a server's heaps
  Address last_ephemeral = 0, last_full = 0;  ///< `LastInfo`
  /// From a thread's RuntimeThreadLocals on: pointer and limit of the part that is not used yet, bytes of all such
  /// parts, bytes of large objects.
  Field alloc_pointer, alloc_limit, alloc_small, alloc_large;
  bool monitors_are_locks = false;  ///< from .NET 11 on: monitors have no count of their own
  bool is_early = false;            ///< the collector had not started: look again
};

/// Finds what it can. `segments` and `bias` are those of the runtime's image, `memory` reads the target as it was
/// loaded
/// (`Target::loaded_memory`), `collector` is nothing where it is not known. Functions of the runtime are followed
/// (`trace.h`), so that a place is what they themselves read.
[[nodiscard]] CounterPlaces find_counter_places(const RuntimeMemory& memory, std::span<const images::Segment> segments,
                                                Address bias, const std::optional<Collector>& collector);

}  // namespace mixstack::dotnet::counters
