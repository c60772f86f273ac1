// The garbage collector's regions and numbers, from outside.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/diagnosis.h"
#include "dotnet/contracts/runtime_memory.h"
#include "mixstack/gc_heap.h"

namespace mixstack::dotnet::objects {

/// Where objects of generations 0 to 2 lie, without frozen and large ones.
struct GcHeap {
  GcState state;
  std::vector<AddressRange> regions;  ///< by address, none overlaps another
};

/// Reads what the GC keeps for debuggers (Collector). Everything is bounded and checked; of what does not agree nothing
/// is told. A value type that borrows the memory.
class GcHeapReader {
 public:
  static constexpr std::size_t kMostRegions = 1 << 16;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

  GcHeapReader(RuntimeMemory memory, Address dac_table) : memory_(memory), dac_table_(dac_table) {}

  /// As it is now: what belongs together is read in a stop.
  [[nodiscard]] Diagnosed<GcHeap> read();
  /// A collection moves objects now, or somebody is about to begin one: nothing of the heap can be believed.
  [[nodiscard]] bool is_moving();

 private:
  using Heap = Collector::Heap;
  [[nodiscard]] Diagnosed<void> find();
  [[nodiscard]] bool add_regions(const Heap& heap, GcHeap& out) const;
  [[nodiscard]] bool add_regions_from(Address segment, const Heap& heap, std::unordered_set<Address>& seen,
                                      GcHeap& out) const;
  [[nodiscard]] std::optional<std::uint64_t> large_bytes(const Heap& heap) const;
  [[nodiscard]] std::uint64_t finalizable(const Heap& heap) const;
  [[nodiscard]] bool is_invalid() const;
  void read_state(GcState& state) const;

  RuntimeMemory memory_;
  Address dac_table_;
  std::optional<Collector> collector_;
  AddressRange bounds_;  ///< of all regions
};

}  // namespace mixstack::dotnet::objects
