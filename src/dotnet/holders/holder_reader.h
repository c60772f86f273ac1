// Finds who holds the objects of a heap; who asks decides how the heap is read at one moment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory/cached_memory.h"
#include "dotnet/code/code_manager.h"
#include "dotnet/heap/gc_regions.h"
#include "dotnet/holders/heap_graph.h"
#include "dotnet/holders/heap_image.h"
#include "dotnet/holders/holder_chains.h"
#include "dotnet/holders/region_objects.h"
#include "dotnet/names/method_names.h"
#include "mixstack/holders.h"

namespace mixstack::dotnet::holders {

/// A heap as it was at one moment. Bytes of objects are in the reader's image, or below it for a core.
struct HeapMoment {
  objects::GcRegions gc;
  std::vector<RegionObjects> regions;  ///< by address
  HeapRoots roots;
  /// Where not all was read at one moment: says which chains hold at one. Null: all of it was.
  std::function<std::vector<bool>(std::span<const HolderChain>)> verify{};
  std::function<bool()> is_unmoved{};  ///< no object has moved since; null: none ever does
};

/// For one answer. Borrows everything. Not thread-safe.
class HolderReader {
 public:
  /// `memory` is of the target, past all caches.
  HolderReader(const RuntimeMemory& memory, Address dac_table, names::MethodNames& names, CodeManager& code);
  HolderReader(const HolderReader&) = delete;
  HolderReader& operator=(const HolderReader&) = delete;

  // The collector, through memory that is of the moment.
  [[nodiscard]] Diagnosed<objects::GcRegions> regions(const MemoryReader& now) const { return gc(now).read(); }
  [[nodiscard]] bool is_moving(const MemoryReader& now) const { return gc(now).is_moving(); }
  [[nodiscard]] std::optional<std::uint64_t> collections(const MemoryReader& now) const {
    return gc(now).collections();
  }
  [[nodiscard]] bool sweeps(const MemoryReader& now) const { return gc(now).background() == 1; }

  [[nodiscard]] RegionObjects walk(const objects::GcRegion& region,
                                   std::span<const objects::AllocationContext> contexts,
                                   const objects::HeapBytes& bytes) {
    return walk_.walk(region, contexts, bytes);
  }
  [[nodiscard]] HeapImage& image() { return image_; }

  /// Handles, ready objects and what threads have of their statics, of a process that stands still. `now`: its memory.
  /// `why_not` receives what could not be read.
  [[nodiscard]] HeapRoots roots(const MemoryReader& now, std::string& why_not) const;
  /// Managed threads that are alive and whose stacks are known. `memory` as above.
  [[nodiscard]] static std::vector<ManagedThread> threads(const RuntimeMemory& memory);
  [[nodiscard]] const RuntimeMemory& memory() const { return memory_; }

  /// Bytes of our memory for a heap of so many objects, without copies; an estimate from above for most heaps.
  /// `heap_bytes`: of regions whose objects are not listed.
  /// `ways`: with shortest ways, for a type, an object, or chains.
  [[nodiscard]] static std::uint64_t memory_for(std::uint64_t objects, std::uint64_t heap_bytes, bool ways);
  /// The search. Never fails: an answer without a tree says why.
  [[nodiscard]] HeapHolders find(HeapMoment&& moment, const HoldersOptions& options);

 private:
  [[nodiscard]] objects::GcRegionReader gc(const MemoryReader& now) const { return {memory_.with(now), dac_table_}; }
  class CodeOfMoment;
  class Finding;

  RuntimeMemory memory_;
  Address dac_table_;
  names::MethodNames& names_;
  CodeManager& code_;
  std::optional<Collector> collector_;
  memory::CachedMemory cache_;
  HeapImage image_;
  ObjectSizes sizes_;
  TypeReferences references_;
  ObjectShapes shapes_;
  RegionWalk walk_;
};

}  // namespace mixstack::dotnet::holders
