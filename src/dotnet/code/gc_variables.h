// The variables that the garbage collector keeps for debuggers, from outside.
#pragma once

#include <cstdint>
#include <optional>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// GcDacVars (src/coreclr/gc/gcinterface.dacvars.def in dotnet/runtime), a contract with a version of its own. How it
/// is found, the table that the runtime makes for its DAC, has no description: its order (src/coreclr/inc/dacvars.h, as
/// 10.0 has it) is believed where entries agree with what the descriptor tells of the same variables. A value type that
/// borrows the memory.
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
    kHeapFields = 27,
    kGenerationFields = 28
  };

  /// Nothing where the table does not agree with the descriptor, or has another version.
  [[nodiscard]] static std::optional<GcVariables> find(RuntimeMemory memory, Address dac_table);

  /// What the table has there: an address of one of the runtime's variables; 0 where it cannot be read.
  [[nodiscard]] Address entry(Entry index) const;
  /// Where the variable lies; 0 where the collector has none of this name (which a server's and a workstation's differ
  /// in).
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
