// The garbage collector's regions and numbers, from outside: through its own variables for debuggers.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/code/diagnosis.h"
#include "dotnet/code/gc_variables.h"
#include "dotnet/code/runtime_memory.h"
#include "mixstack/gc_heap.h"

namespace mixstack::dotnet::objects {

/// Where objects of generations 0 to 2 lie, without frozen and large ones.
struct GcHeap {
  GcState state;
  std::vector<AddressRange> regions;  ///< by address, none overlaps another
};

/// Reads what the GC keeps for debuggers (GcVariables). Everything is bounded and checked; of what does not agree
/// nothing is told. A value type that borrows the memory.
class GcHeapReader {
 public:
  static constexpr std::uint32_t kMostHeaps = 1024;
  static constexpr std::size_t kMostRegions = 1 << 16;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

  GcHeapReader(RuntimeMemory memory, Address dac_table) : memory_(memory), dac_table_(dac_table) {}

  /// As it is now: what belongs together is read in a stop.
  [[nodiscard]] Diagnosed<GcHeap> read();
  /// A collection moves objects now, or somebody is about to begin one: nothing of the heap can be believed.
  [[nodiscard]] bool is_moving();

 private:
  /// Tables of one heap: where its generations are, its current region, the end of what is allocated there.
  struct OneHeap {
    Address generations = 0, current_region = 0, allocated = 0, finalize_queue = 0;
  };
  [[nodiscard]] bool find_variables();
  [[nodiscard]] std::optional<std::uint32_t> offset(GcVariables::Variable table, unsigned index) const;
  [[nodiscard]] std::vector<OneHeap> heaps(bool is_server) const;
  [[nodiscard]] bool add_regions(const OneHeap& heap, GcHeap& out) const;
  [[nodiscard]] std::uint64_t finalizable(const OneHeap& heap) const;

  RuntimeMemory memory_;
  Address dac_table_;
  std::optional<GcVariables> variables_;
  AddressRange bounds_;  ///< of all regions
};

}  // namespace mixstack::dotnet::objects
