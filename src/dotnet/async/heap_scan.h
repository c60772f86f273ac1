// Boxes of async methods, wherever they lie in the heap: found by their types, not by who refers to them.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "dotnet/async/state_machines.h"
#include "dotnet/heap/gc_heap.h"
#include "dotnet/heap/page_store.h"

namespace mixstack::dotnet::objects {

/// An async method that has begun and not ended.
struct FoundBox {
  Address address = 0;
  StructPlace machine;
  std::int32_t state = -1;  ///< as in AsyncStep
  bool is_task = true;
  bool is_runtime_async = false;  ///< the methods are suspended by the runtime: there is no state machine
  Address machine_object = 0;     ///< of a debuggable method, or an async iterator: others may await it; 0: none
};

/// Looks through the heap of a process that stands still. A word that is a box's MethodTable is believed to begin one
/// where the padding before it is zero, the whole of it lies in its region, its state machine is there, at an await or
/// running, and that one's builder points back at the box. Tasks of methods without a state machine are believed where
/// what they have called when they may go on is their own. Garbage that no collection has seen yet passes, too. Not
/// thread-safe. Borrows everything.
class HeapScanner {
 public:
  static constexpr std::size_t kMostBoxes = 1 << 20;
  static constexpr std::size_t kMostTypes = 1 << 14;  ///< of boxes
  static constexpr unsigned kMostMissing = 1 << 12;   ///< pages that are stepped over one by one; then whole pieces
  static constexpr std::size_t kPiece = 1 << 20;      ///< bytes that are read at once

  HeapScanner(ManagedObjects& objects, StateMachines& machines) : objects_(objects), machines_(machines) {}

  /// Types of boxes that are loaded, out of each module's table of generic instances. May be called again: what is
  /// known of a type is not read again.
  void find_types();
  [[nodiscard]] std::span<const Address> types() const { return types_; }

  /// `store` is what the objects are read through; it gets the pages of what is found.
  [[nodiscard]] HeapScan scan(std::span<const AddressRange> regions, const MemoryReader& memory, PageStore& store);
  /// The last scan saw boxes that the GC has marked: a collection was under way.
  [[nodiscard]] bool saw_marks() const { return saw_marks_; }
  /// The boxes found, by address.
  [[nodiscard]] const std::vector<FoundBox>& boxes() const { return boxes_; }

 private:
  /// The layout that a hit is checked with.
  struct BoxType {
    StateMachines::BoxLayout layout;
    StateMachines::MachineLayout machine;
    std::uint32_t size = 0;
    std::optional<std::uint32_t> flags;  ///< m_stateFlags, of a task
    bool is_runtime_async = false;
    bool is_result = false;  ///< of F#'s async, and no box
  };
  /// Fields of a result of F#'s async, from the object's begin.
  struct ResultLayout {
    std::uint32_t result = 0, is_closed = 0, root = 0;
  };
  struct Piece {
    Address base = 0;
    std::span<const std::byte> bytes;
  };
  void add_type(Address type);
  bool add_of_fsharp(const TypeFacts& type);
  template <class T>
  [[nodiscard]] std::optional<T> read(const Piece& piece, Address at) const;
  [[nodiscard]] std::optional<FoundBox> prove_runtime_async(Address at);
  [[nodiscard]] bool is_open_result(const Piece& piece, Address at) const;
  [[nodiscard]] std::optional<FoundBox> prove(const Piece& piece, Address at, Address region_end);

  ManagedObjects& objects_;
  StateMachines& machines_;
  std::unordered_map<Address, BoxType> known_;
  std::vector<Address> types_;
  std::vector<FoundBox> boxes_;
  std::optional<ResultLayout> result_;
  bool has_fsharp_async_ = false;
  std::uint64_t results_ = 0;  ///< of F#'s async, that are not there yet
  bool saw_marks_ = false;
};

}  // namespace mixstack::dotnet::objects
