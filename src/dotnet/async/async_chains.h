// Chains of async methods: down from a task to what its innermost method awaits, up from there to the outermost.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/async/state_machines.h"
#include "mixstack/async.h"

namespace mixstack::dotnet::objects {

/// Follows chains without a scan of the heap. Bounded, cycles end. Borrows everything; not thread-safe.
class AsyncChains {
 public:
  static constexpr std::size_t kMostSteps = 200;

  /// `now`: the runtime's clock (Environment.TickCount64) at the capture; none: not known.
  AsyncChains(ManagedObjects& objects, Delegates& delegates, StateMachines& machines, std::optional<std::int64_t> now)
      : objects_(objects), delegates_(delegates), machines_(machines), now_(now) {}

  /// The chain from a task down to what it waits for. Ids of threads are not filled in.
  [[nodiscard]] AsyncChain below(Address task);
  /// Whether its end may run: the runtime does not record that for methods that it suspends itself, and nothing that
  /// their end awaits shows that they do not. A queued one does not run.
  [[nodiscard]] bool may_run(const AsyncChain& chain);
  /// The outermost of those that wait for an object, or a thread's event behind it: each `way` goes from the object to
  /// it. Where several wait for one the first is followed.
  [[nodiscard]] std::vector<Address> way_up(Address object);
  /// Time until a timer goes off, from the capture on.
  [[nodiscard]] std::optional<std::chrono::milliseconds> due(Address timer);
  /// The task, or source of a value, that a task waits for and does nothing but that.
  struct Behind {
    Address task = 0;       ///< 0: none
    bool gives_up = false;  ///< it ends without that task, too: by time or a CancellationToken (Task.WaitAsync)
  };
  [[nodiscard]] Behind behind(Address task);
  /// Whether a task ends only when all of those have ended that go on with it (Task.WhenAll, Task.Run of an async
  /// method, Parallel.ForEachAsync). It does not name them.
  [[nodiscard]] bool joins_others(Address task);
  /// Where two chains have become one, and a method of the lower part, from step `lower` on, is one of the upper part,
  /// too: the chain ends there, in a cycle.
  void close_joined(std::size_t lower, AsyncChain& chain);

 private:
  void close(std::size_t step, AsyncChain& chain);
  [[nodiscard]] bool is_promise(Address task);
  bool add_suspended(Address task, AsyncChain& chain);
  void end_at(Address object, AsyncChain& chain);
  void find_place(AsyncChain& chain);

  ManagedObjects& objects_;
  Delegates& delegates_;
  StateMachines& machines_;
  std::optional<std::int64_t> now_;
};

}  // namespace mixstack::dotnet::objects
