// The locks that threads of the runtime block on, and their owners, by the records that it keeps for debuggers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/memory/process_memory.h"
#include "dotnet/heap/managed_objects.h"
#include "dotnet/waits/monitor_locks.h"

namespace mixstack::dotnet::objects {

/// ThreadBlockingInfo.ObjectKind (System.Private.CoreLib, src/System/Threading/ThreadBlockingInfo.cs).
enum class BlockingKind : std::uint32_t { monitor_enter = 0, monitor_wait = 1, lock = 2, condition = 3 };

/// One thing a thread blocks on. A thread has several when a wait waits inside (an event's own lock).
struct BlockingRecord {
  BlockingKind kind = BlockingKind::monitor_enter;
  Address pointer = 0;           ///< AwareLock of a monitor; of the others the object
  std::int32_t timeout_ms = -1;  ///< -1: for ever
  Address at = 0;                ///< where the record lies
  Address word = 0;              ///< its first word as it was read
};

/// A lock and its owner.
struct LockState {
  Address object = 0;
  std::uint64_t owner = 0;          ///< OS thread id in the target's pid namespace; 0: nobody, or it has ended
  std::uint32_t managed_owner = 0;  ///< of a monitor: the managed id that it keeps of who holds it; 0: nobody
  bool is_by_managed_id = false;    ///< .NET 11: of monitors and Locks the managed id alone is kept
  std::uint32_t recursion = 0, waiters = 0;
};

/// Reads the records of threads of one capture: they lie on the threads' stacks. In .NET 11 monitors have the records
/// of the Locks that they are. Borrows the objects.
class BlockingRecords {
 public:
  static constexpr std::size_t kMost = 16;  ///< of one thread

  explicit BlockingRecords(ManagedObjects& objects) : objects_(objects), monitors_(objects) {}

  /// Newest first; none where the runtime does not keep them (before .NET 9). `stack` bounds where records may lie.
  [[nodiscard]] std::vector<BlockingRecord> of(Address thread, AddressRange stack);
  /// Whether a thread's records, and what they point at, can be read, or it has none. A core may lack them.
  [[nodiscard]] bool are_there(Address thread, AddressRange stack);
  /// Whether the newest record of a thread is still this one, as `now` reads: the thread has not gone on since it was
  /// captured, or has come back to the same place.
  [[nodiscard]] bool is_still(Address thread, const BlockingRecord& newest, const MemoryReader& now);
  /// The same of many threads at once, with few system calls. By thread; whose newest record is not told is left out.
  [[nodiscard]] std::unordered_map<Address, bool> are_still(
      std::span<const std::pair<Address, BlockingRecord>> newest_by_thread, const memory::BulkMemory& now);
  /// The state of a monitor that has a sync block, proved by the table of these pointing back at it.
  [[nodiscard]] std::optional<LockState> monitor(Address aware_lock);
  /// The state of a System.Threading.Lock; `object` is the Lock itself.
  [[nodiscard]] std::optional<LockState> lock(Address object);
  /// The object whose monitor a Lock is; 0: it is a Lock of its own.
  [[nodiscard]] Address object_of_monitor(Address lock) { return has_locks() ? monitors_.object_of(lock) : 0; }
  /// Whether monitors are Locks (.NET 11).
  [[nodiscard]] bool has_locks() const { return objects_.memory().layouts().algorithms.waits == WaitForm::managed; }

 private:
  /// The word that points at a thread's newest record.
  [[nodiscard]] std::optional<Address> first_slot(Address thread);
  /// No thread has ever had one.
  [[nodiscard]] bool are_none() const;
  [[nodiscard]] LockState state_of(Address aware_lock, Address object) const;

  ManagedObjects& objects_;
  MonitorLocks monitors_;
};

}  // namespace mixstack::dotnet::objects
