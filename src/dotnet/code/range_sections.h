// The runtime's map of code: which part of the address space belongs to which code manager.
#pragma once

#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

/// A contiguous range of code of one kind. RangeSection of src/coreclr/vm/codeman.h.
struct RangeSection {
  enum class Kind : std::uint8_t { none, code_heap, ready_to_run, stub_list };
  Kind kind = Kind::none;
  bool is_collectible = false;
  AddressRange range;
  Address address = 0;         ///< of the RangeSection itself
  Address heap_list = 0;       ///< CodeHeapListNode (code_heap)
  Address module = 0;          ///< ReadyToRun module (ready_to_run)
  std::uint8_t list_kind = 0;  ///< kind of all stubs in a stub_list (StubCodeBlockKind), 0 when not known
};

/// Looks ranges up in the five-level map (two levels on 32-bit targets) and remembers those found. Not thread-safe.
class RangeSections {
 public:
  explicit RangeSections(const RuntimeMemory& memory) : memory_(memory) {}

  /// The section that holds `address`. Kind `none` when there is none: that is an answer, not an error. Errors:
  /// `unreadable_memory`, `limit_exceeded` (a chain without end), `malformed` (a section that does not hold what its
  /// fragment says).
  [[nodiscard]] Result<RangeSection> find(Address address);
  /// Forgets: sections of collectible code come and go.
  void clear() { known_.clear(); }
  void rebind(const RuntimeMemory& memory) {
    memory_ = memory;
    clear();
  }

  /// Fragments that may hang on one leaf of the map (each covers 128 KiB or less).
  static constexpr unsigned kMaxFragments = 4096;

 private:
  [[nodiscard]] Result<Address> leaf(Address address) const;
  [[nodiscard]] Result<RangeSection> read_section(Address section) const;
  [[nodiscard]] Result<bool> is_being_deleted(Address section) const;

  RuntimeMemory memory_;
  std::vector<RangeSection> known_;  // sorted by range.begin
};

}  // namespace mixstack::dotnet
