// The whole heap's async methods: a search made ready while the process runs, and made while it stands still.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dotnet/async/heap_chains.h"
#include "dotnet/async/heap_scan.h"
#include "dotnet/heap/gc_heap.h"

namespace mixstack::dotnet::objects {

struct HeapFound {
  GcState gc;
  HeapScan scan;
  std::vector<AsyncChain> chains;  ///< equal ones together
  bool has_more = false;           ///< kinds of chains
  /// Ends of chains reported before below which more was found: those chains are among `chains` as a whole.
  std::unordered_set<Address> explained;
};

/// For one capture. Not thread-safe. Borrows everything.
class HeapReader {
 public:
  HeapReader(ManagedObjects& objects, CodeManager& code, names::MethodNames& names, Address dac_table)
      : objects_(objects),
        delegates_(objects, code, names),
        machines_(objects, delegates_),
        scanner_(objects, machines_),
        dac_table_(dac_table) {}

  /// The collector's state, as of the capture or soon after.
  [[nodiscard]] Diagnosed<GcHeap> heap() const;
  /// The same through other memory: of a process that runs it may be torn, and refused for it.
  [[nodiscard]] Diagnosed<GcHeap> heap(const MemoryReader& memory) const;
  /// A collection is under way: let the process run on, and stop it again.
  [[nodiscard]] bool is_moving(const MemoryReader& memory) const;
  /// Finds the types of boxes, and the names of their methods, so that the stop is short.
  void prepare();
  /// Reads a stopped process or a core. `now` is the runtime's clock, as in AsyncChains; `told` are chains that threads
  /// wait for, which are not reported again. Refuses a heap of more than `most` bytes.
  [[nodiscard]] Diagnosed<HeapFound> read(const MemoryReader& memory, std::optional<std::int64_t> now,
                                          std::span<const AsyncChain> told, std::uint64_t most);
  /// Boxes of the last `read`.
  [[nodiscard]] const std::vector<FoundBox>& boxes() const { return scanner_.boxes(); }

 private:
  ManagedObjects& objects_;
  Delegates delegates_;
  StateMachines machines_;
  HeapScanner scanner_;
  Address dac_table_;
};

}  // namespace mixstack::dotnet::objects
