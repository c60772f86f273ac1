// Counts objects of a heap by type, piece by piece; who asks decides which pieces, when, and from which bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dotnet/heap/aot_type_names.h"
#include "dotnet/heap/gc_regions.h"
#include "dotnet/heap/heap_walk.h"
#include "dotnet/heap/loaded_types.h"

namespace mixstack::dotnet::objects {

/// Borrows everything; through `memory` types are read, which stay where they are while the process runs, and new ones
/// come: no cache. Not thread-safe.
class HeapCounter {
 public:
  HeapCounter(RuntimeMemory memory, Address dac_table, names::MethodNames& names)
      : memory_(memory), dac_table_(dac_table), names_(&names), sizes_(memory), walk_(sizes_) {}
  /// The same where a runtime has no modules (NativeAOT): lists are not told, for no fields are known.
  HeapCounter(RuntimeMemory memory, std::shared_ptr<TypeNames> names)
      : memory_(memory), type_names_(std::move(names)), sizes_(memory), walk_(sizes_) {}

  // The collector, through memory that is of the moment.
  [[nodiscard]] Diagnosed<GcRegions> regions(const MemoryReader& now) const { return collector(now).read(); }
  [[nodiscard]] bool is_moving(const MemoryReader& now) const { return collector(now).is_moving(); }
  [[nodiscard]] std::optional<std::uint64_t> collections(const MemoryReader& now) const {
    return collector(now).collections();
  }
  [[nodiscard]] bool is_in_background(const MemoryReader& now) const { return collector(now).background() < 2; }
  [[nodiscard]] bool sweeps(const MemoryReader& now) const { return collector(now).background() == 1; }

  [[nodiscard]] RegionCount count(const GcRegion& region, std::span<const AllocationContext> contexts,
                                  const HeapBytes& bytes) {
    return walk_.count(region, contexts, bytes);
  }
  void add(const GcRegion& region, const RegionCount& count);
  /// Forgets what was added.
  void clear() {
    totals_.clear();
    elements_.clear();
  }
  /// Strings, arrays and lists, too, from now on. `data`: also what strings hold. `most_texts`: as in
  /// ElementCounter.
  void watch_elements(bool data, std::size_t most_texts);
  /// All that was added, with the names of types. Numbers of heaps are those of `gc`.
  [[nodiscard]] HeapTypes take(const GcRegions& gc);

 private:
  [[nodiscard]] GcRegionReader collector(const MemoryReader& now) const { return {memory_.with(now), dac_table_}; }

  RuntimeMemory memory_;
  Address dac_table_ = 0;
  names::MethodNames* names_ = nullptr;  ///< null: it has no modules
  std::shared_ptr<TypeNames> type_names_;
  ObjectSizes sizes_;
  HeapWalk walk_;
  std::vector<TypeCount> totals_;  ///< by number of type
  std::unique_ptr<LoadedTypes> types_;
  std::unique_ptr<ElementCounter> element_counter_;  ///< null: not asked for
  std::vector<std::shared_ptr<const ElementSums>> elements_;
};

}  // namespace mixstack::dotnet::objects
