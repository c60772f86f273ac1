// All regions of the managed heap with their generations, and where allocation goes on in them.
#pragma once

#include <unordered_set>
#include <vector>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/diagnosis.h"
#include "dotnet/contracts/runtime_memory.h"
#include "mixstack/memory.h"

namespace mixstack::dotnet::objects {

/// A region, or a part of a segment that has one generation.
struct GcRegion {
  AddressRange objects;                 ///< from its first object to the end of what is allocated
  Address committed = 0, reserved = 0;  ///< ends of the region; the part's own end where others follow in the segment
  HeapGeneration generation = HeapGeneration::two;
  friend bool operator==(const GcRegion&, const GcRegion&) = default;
};

/// Room that a thread, or the collector, took for new objects: from `pointer` on there are none.
struct AllocationContext {
  Address pointer = 0, limit = 0;
};

struct GcRegions {
  std::vector<GcRegion> regions;            ///< by address, none overlaps another
  std::vector<AllocationContext> contexts;  ///< by address; only generation 0 has them
  std::uint32_t heaps = 0;
  bool is_server = false;
  bool has_segments = false;  ///< others' mappings may lie between them, within the bounds
  AddressRange bounds;        ///< of all regions, committed or not
  AddressRange bookkeeping;   ///< cards and marks, committed or not; empty: not described, or not as is known
  std::array<std::uint64_t, kHeapGenerations> bytes{};
  std::array<std::uint32_t, kHeapGenerations> count{};
};

/// Reads them. Everything is bounded and checked: lists without end, regions outside of the collector's range and
/// regions that overlap are refused. A value type that borrows the memory.
class GcRegionReader {
 public:
  static constexpr std::size_t kMostRegions = 1 << 20;

  GcRegionReader(RuntimeMemory memory, Address dac_table) : memory_(memory), dac_table_(dac_table) {}

  [[nodiscard]] Diagnosed<GcRegions> read();
  /// A collection moves objects now, or somebody is about to begin one.
  [[nodiscard]] bool is_moving();
  /// The count of collections that the collector keeps; nothing where it does not tell (.NET 10's server).
  [[nodiscard]] std::optional<std::uint64_t> collections();
  /// A background collection marks (0) or sweeps (1); 2: none.
  [[nodiscard]] std::uint32_t background();
  /// Other bytes of the same process from now on.
  void use(RuntimeMemory memory) { memory_ = memory; }

 private:
  [[nodiscard]] Diagnosed<void> find();
  [[nodiscard]] bool is_suspended() const;
  [[nodiscard]] bool add_list(const Collector::Heap& heap, unsigned generation, GcRegions& out);
  [[nodiscard]] bool add_heap(const Collector::Heap& heap, GcRegions& out);
  [[nodiscard]] bool add(GcRegion region, GcRegions& out) const;
  [[nodiscard]] AddressRange bookkeeping() const;
  void add_context(Address at, GcRegions& out) const;
  void add_threads(GcRegions& out) const;

  RuntimeMemory memory_;
  Address dac_table_;
  std::optional<Collector> collector_;
  AddressRange bounds_;
  bool is_missing_ = false;  ///< the last region cannot be read
};

}  // namespace mixstack::dotnet::objects
