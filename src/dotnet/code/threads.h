// The runtime's threads: the list, what each Thread object says, and its bytes as roots of a capture.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dotnet/code/gc_moves.h"
#include "dotnet/contracts/runtime_memory.h"
#include "mixstack/target.h"

namespace mixstack::dotnet {

/// One Thread object (src/coreclr/vm/threads.h), as read from one memory. Plain data.
struct ManagedThread {
  Address address = 0;
  std::uint32_t id = 0;      ///< managed id, 0 when not assigned
  std::uint64_t os_id = 0;   ///< in the target's own pid namespace; 0: not started
  std::uint32_t state = 0;   ///< ThreadState bits
  bool cooperative = false;  ///< GC mode: true while the thread runs managed code
  Address frame = 0;         ///< newest explicit Frame; all ones: none
  Address exception_tracker = 0;
  Address thread_object_handle = 0;  ///< GC handle of the managed Thread object
  Address last_thrown_handle = 0;
  AddressRange stack;  ///< as the runtime knows it; empty when not known
  /// A suspension replaced the return address in this stack slot by its own; the true one is `hijacked_return`.
  Address hijacked_slot = 0, hijacked_return = 0;

  [[nodiscard]] bool is_hijacked() const { return hijacked_slot != 0; }
  /// TS_Dead, TS_Unstarted, TS_Background of ThreadState.
  [[nodiscard]] bool is_dead() const { return (state & 0x00000800) != 0; }
  [[nodiscard]] bool is_unstarted() const { return (state & 0x00000400) != 0; }
  [[nodiscard]] bool is_background() const { return (state & 0x00000200) != 0; }
};

struct ThreadList {
  std::vector<ManagedThread> threads;
  Error error;  ///< why the list is not whole: a cycle or too long (`limit_exceeded`), or unreadable
};

/// Bound on hostile lists.
inline constexpr std::size_t kMaxThreads = 1u << 16;

/// One thread from its object's bytes: one read.
[[nodiscard]] Result<ManagedThread> read_thread(const RuntimeMemory& memory, Address address);
/// The slot whose return address was replaced last, and the address that stood there; it may have been put back since.
/// While the thread runs, the two may not belong together. `not_found`: none ever was, or the runtime does not tell.
struct LastHijack {
  Address slot = 0, return_address = 0;
};
[[nodiscard]] Result<LastHijack> read_last_hijack(const RuntimeMemory& memory, Address thread);
/// All threads of the ThreadStore, in the order of their creation. Over the overlay of a capture that took ThreadRoots
/// the answer belongs to the copied stacks. An error is part of the answer: threads before it are right.
[[nodiscard]] ThreadList read_threads(const RuntimeMemory& memory);
/// The same one after the other, as long as `visit` answers true. A list with a cycle visits some again. Answers why
/// the list is not whole, if it went to its end.
Error visit_threads(const RuntimeMemory& memory, const std::function<bool(const ManagedThread&)>& visit);
/// The same by the addresses of the objects, which are not read; `visit` may end it with an error, or with false.
Error visit_thread_objects(const RuntimeMemory& memory, const std::function<Error(Address, bool&)>& visit);

/// The managed thread's name (Thread.Name) as UTF-8, at most 4096 UTF-16 units; empty when it has none. The managed
/// object may move while the process runs, and the thread may end: `mismatch` when after a few tries no two readings of
/// the object agree that it is this thread's. For a running process `memory` must read past caches: cached pages of
/// different moments may agree by chance.
[[nodiscard]] Result<std::string> thread_name(const RuntimeMemory& memory, const ManagedThread& thread);
/// A name and where it lay.
struct NameFound {
  Address object = 0, string = 0;
  std::string text;
  bool operator==(const NameFound&) const = default;
};

/// The names of a process's threads, capture after capture. One thread at a time.
class ThreadNames {
 public:
  /// `thread_name` of many threads with few reads, one answer for each. `first`, `second` and `third` may be caches of
  /// `memory` that hold nothing yet. All names are read through `first`. Names that changed since the last capture are
  /// read again through `second`, then `third` confirms that their threads are still there; so no page is older than
  /// the reading it confirms. A name with the same place and text as last time is this thread's, even if objects moved
  /// between two reads. `has_moved`, asked after the first reading: whether a collection may have moved objects since
  /// before it. If none has, the second reading would find the same, and is left out.
  [[nodiscard]] std::vector<Result<std::string>> read(const RuntimeMemory& first, const RuntimeMemory& second,
                                                      const RuntimeMemory& third, const RuntimeMemory& memory,
                                                      std::span<const ManagedThread> threads,
                                                      const std::function<bool()>& has_moved);

 private:
  struct Known {
    std::uint64_t os_id = 0;
    std::uint32_t id = 0;
    Address handle = 0;
    NameFound name;
  };
  [[nodiscard]] bool is_known(const ManagedThread& thread, const NameFound& name) const;

  std::unordered_map<Address, Known> known_;  ///< of the threads asked about last, by Thread
};

/// Reads a managed string as UTF-8: at most `limit` UTF-16 units.
[[nodiscard]] Result<std::string> managed_string(const RuntimeMemory& memory, Address string, std::size_t limit = 4096);

/// Roots of a capture: the Thread objects, the global that names the suspending thread, and the collector's counts.
class ThreadRoots final : public RootSource {
 public:
  /// Borrows the layouts behind `layouts`.
  explicit ThreadRoots(const Layouts& layouts) : layouts_(&layouts) {}
  void use_gc_counts(const GcCounts& at) { gc_counts_ = at; }
  void collect(const MemoryReader& memory, std::vector<AddressRange>& out) override;

 private:
  const Layouts* layouts_;
  std::optional<GcCounts> gc_counts_;
};

}  // namespace mixstack::dotnet
