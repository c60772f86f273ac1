// The variables that the garbage collector keeps for debuggers, from outside.
#pragma once

#include <cstdint>
#include <optional>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// GcDacVars (src/coreclr/gc/gcinterface.dacvars.def in dotnet/runtime), a contract with a version of its own. It is
/// found through the table that the runtime makes for its DAC, which nothing describes: the order of 10.0
/// (src/coreclr/inc/dacvars.h) is used if its entries agree with the descriptor's globals of the same names. A value
/// type that borrows the memory.
class GcVariables {
 public:
  /// Entries of the table.
  enum Entry : unsigned {
    kThreadStore = 15,
    kFinalizerThread = 16,
    kSuspensionThread = 17,
    kHeapType = 18,
    kGcDacGlobals = 19,
    kAppDomain = 20,
    kLowestAddress = 37,
    kHighestAddress = 38,
    kObjectMethodTable = 42
  };
  /// Pointers at variables, by their place in GcDacVars.
  enum Variable : unsigned {
    kMechanisms = 2,
    kGenerationTable = 3,
    kBackgroundState = 6,
    kEphemeralSegment = 7,
    kAllocAllocated = 12,
    kFinalizeQueue = 15,
    kHeapCount = 19,
    kHeaps = 20,
    kStructuresInvalid = 21,
    kHandleTableMap = 26,
    kHeapFields = 27,
    kGenerationFields = 28,
    kBookkeeping = 29
  };

  /// Nothing where the table does not agree with the descriptor, or has another version.
  [[nodiscard]] static std::optional<GcVariables> find(RuntimeMemory memory, Address dac_table);

  /// The entry of the table: the address of one of the runtime's variables; 0 where it cannot be read.
  [[nodiscard]] Address entry(Entry index) const;
  /// Address of the variable; 0 where this collector has none of that name (server and workstation differ).
  [[nodiscard]] Address variable(Variable index) const;
  /// The pointer that the variable holds; 0: none.
  [[nodiscard]] Address through(Variable index) const;
  /// Bytes of one `generation`.
  [[nodiscard]] std::uint64_t generation_size() const { return generation_size_; }

 private:
  GcVariables(RuntimeMemory memory, Address dac_table) : memory_(memory), dac_table_(dac_table) {}
  [[nodiscard]] bool agrees() const;

  RuntimeMemory memory_;
  Address dac_table_;
  Address variables_ = 0;
  std::uint64_t generation_size_ = 0;
};

}  // namespace mixstack::dotnet
