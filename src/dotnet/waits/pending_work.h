// Pending work of a program besides what its threads run: its thread pool, timers, and chains of async methods.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>

#include "dotnet/async/async_values.h"
#include "dotnet/async/suspended_values.h"
#include "dotnet/async/thread_pool.h"
#include "dotnet/async/timers.h"
#include "dotnet/names/method_names.h"
#include "dotnet/waits/ends_of_work.h"
#include "dotnet/waits/requests.h"
#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {

/// A thread that waits for a task. Its id in the target's pid namespace.
struct WaitedTask {
  std::uint32_t thread = 0;
  Address task = 0;
};

/// Puts together what is read of one capture. Ids of threads are those of the runtime. Borrows everything; not
/// thread-safe.
class PendingWorkReader {
 public:
  static constexpr std::size_t kMostChains = 1 << 11;
  static constexpr std::size_t kMostTimers = 1 << 12;
  static constexpr std::size_t kMostWords = 1 << 13;  ///< of one thread's stack
  static constexpr std::size_t kMostSockets = 1 << 11;
  static constexpr std::size_t kMostValues = 1 << 14;  ///< of all async methods
  static constexpr std::size_t kMostOfMethod = 32;
  static constexpr std::size_t kMostLinked = 1 << 13;  ///< objects on the ways up from what threads run
  static constexpr std::size_t kMostJoined = 16;       ///< chains behind one promise that are told

  /// `data`: contents of the user's own data are told, too.
  PendingWorkReader(ManagedObjects& objects, CodeManager& code, names::MethodNames& names,
                    std::optional<std::int64_t> now, bool data)
      : objects_(objects),
        names_(names),
        delegates_(objects, code, names),
        machines_(objects, delegates_),
        chains_(objects, delegates_, machines_, now),
        pool_(objects, delegates_, machines_, now),
        requests_(objects, machines_, chains_, data, now),
        data_(data) {}

  /// `running`: current tasks of threads, each with the thread.
  [[nodiscard]] PendingWork read(std::span<const WaitedTask> waits, std::span<const WaitingThread> threads,
                                 const std::unordered_map<Address, std::uint64_t>& running);

 private:
  using Way = std::vector<Address>;
  void add_waited(std::span<const WaitedTask> waits, const std::unordered_map<Address, std::uint64_t>& running);
  void add_unwaited(const Way& way);
  void join(Address promise, Address child);
  void join_what_runs(std::span<const WaitingThread> threads,
                      const std::unordered_map<Address, std::uint64_t>& running);
  [[nodiscard]] bool is_open(const AsyncChain& chain);
  [[nodiscard]] std::vector<AsyncChain> extended(AsyncChain chain);
  void extend();
  void append(const Way& way, std::size_t from, AsyncChain& chain);
  [[nodiscard]] bool is_queued(const AsyncChain& chain);
  void find_contexts(std::span<const WaitingThread> threads);
  [[nodiscard]] Address scheduler_of(Address task);
  [[nodiscard]] bool is_left_to(Address scheduler, const AsyncChain& chain);
  void find_schedulers(const std::unordered_map<Address, std::uint64_t>& innermost);
  [[nodiscard]] Address task_that_may_run(const AsyncChain& chain);
  void add_outer_tasks(std::span<const WaitingThread> threads, std::unordered_map<Address, std::uint64_t>& running);
  void name_who_ends();
  void find_dispatched(std::span<const WaitingThread> threads, std::vector<Address>& roots);
  [[nodiscard]] Address registrations_behind(Address box);
  void find_callbacks(std::span<const WaitingThread> threads);
  void follow_to_children(const std::unordered_map<Address, std::uint64_t>& running);
  [[nodiscard]] bool waits_for_end(std::uint64_t tid, const AsyncChain& chain) const;
  [[nodiscard]] bool goes_on_inside(std::span<const WaitingThread> threads, std::uint64_t tid, const AsyncChain& chain);
  void find_runners(std::span<const WaitingThread> threads);
  void find_requests(std::span<const WaitingThread> threads);
  void read_values();

  ManagedObjects& objects_;
  names::MethodNames& names_;
  Delegates delegates_;
  StateMachines machines_;
  AsyncChains chains_;
  ThreadPoolReader pool_;
  Requests requests_;
  bool data_;
  PendingWork found_;
  std::vector<Way> ways_;  ///< from timers, queued items and sockets, upwards
  EndsOfWork ends_;
  std::unordered_map<Address, std::vector<Address>> joined_;  ///< promise to those it waits for, as far as is known
  std::unordered_set<Address> queued_, told_;                 ///< objects in the pool's queues; boxes of chains
};

}  // namespace mixstack::dotnet::objects
