// The garbage collector's regions and numbers, from outside: through its own variables for debuggers.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/code/diagnosis.h"
#include "dotnet/code/runtime_memory.h"
#include "mixstack/gc_heap.h"

namespace mixstack::dotnet::objects {

/// Where objects of generations 0 to 2 lie, without frozen and large ones.
struct GcHeap {
  GcState state;
  std::vector<AddressRange> regions;  ///< by address, none overlaps another
};

/// Reads what the GC keeps for debuggers (GcDacVars, src/coreclr/gc/gcinterface.dacvars.def in dotnet/runtime), which
/// is a contract with a version of its own. How it is found, g_dacTable, has no description: its order (that of
/// src/coreclr/inc/dacvars.h) is believed where entries agree with what the descriptor tells of the same variables.
/// Everything is bounded and checked; of what does not agree nothing is told. A value type that borrows the memory.
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
  [[nodiscard]] Address entry(unsigned index) const;
  [[nodiscard]] Address variable(unsigned index) const;
  [[nodiscard]] Address through(unsigned index) const;
  [[nodiscard]] std::optional<std::uint32_t> offset(unsigned table, unsigned index) const;
  [[nodiscard]] std::vector<OneHeap> heaps(bool is_server) const;
  [[nodiscard]] bool add_regions(const OneHeap& heap, GcHeap& out) const;
  [[nodiscard]] std::uint64_t finalizable(const OneHeap& heap) const;

  RuntimeMemory memory_;
  Address dac_table_;
  Address variables_ = 0;  ///< GcDacVars
  std::uint64_t generation_size_ = 0;
  AddressRange bounds_;  ///< of all regions
};

}  // namespace mixstack::dotnet::objects
