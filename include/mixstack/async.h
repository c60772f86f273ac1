// Async methods that have not ended, the thread pool and timers, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/gc_heap.h"
#include "mixstack/requests.h"
#include "mixstack/values.h"
#include "mixstack/waits.h"

namespace mixstack {

/// What the innermost method of a chain awaits.
enum class AsyncEnd : std::uint8_t {
  unknown,
  running,    ///< nothing: the method runs, or is about to
  yielded,    ///< its own turn: Task.Yield, or an awaiter that keeps nothing
  completed,  ///< nothing any more: what it awaited has ended, the rest of it has not begun
  delay,      ///< Task.Delay
  all_tasks,  ///< Task.WhenAll
  any_task,   ///< Task.WhenAny
  promise,    ///< a TaskCompletionSource: nobody can know who completes it
  semaphore,  ///< SemaphoreSlim.WaitAsync
  socket,     ///< an operation of a socket
  work,       ///< a task with a method of its own (Task.Run)
  source,     ///< a source of values of another type: channels, pipes
  circle,     ///< one of the chain's own methods: none from that one on gets on
};
[[nodiscard]] std::string_view to_string(AsyncEnd end);

/// One async method that has begun and not ended.
struct AsyncStep {
  std::string method;  ///< C# name, as frames of it have it
  Address box = 0;     ///< the object that holds its state: the task that its caller got
  /// The await that it is suspended at, from 0 in the order of the source; -1: it runs, or is about to.
  std::int32_t state = -1;
  std::vector<ProgramValue> values{};  ///< parameters and locals: with `DumpOptions::data`
  friend bool operator==(const AsyncStep&, const AsyncStep&) = default;
};

/// Async methods each of which awaits the next, outermost first. Ids of threads as in the dump.
struct AsyncChain {
  std::vector<AsyncStep> steps;  ///< may be empty: a thread waits for a task that is no async method's
  AsyncEnd end = AsyncEnd::unknown;
  WaitedObject awaited;          ///< at its end; `detail` of `socket`: the other end; of `circle` the `box` of a step
  std::int32_t descriptor = -1;  ///< of `socket`; -1: not known
  std::string work;              ///< of `work`: the method
  std::optional<std::chrono::milliseconds> due;  ///< of `delay`: from the capture on; negative: it is late
  Proof proof = Proof::proved;                   ///< proved: each awaited object points back at who awaits it
  std::uint32_t waiter = 0;                      ///< the thread that waits for the outermost; 0: none
  std::uint32_t runner = 0;                      ///< the thread that runs its end; 0: none
  std::string context;                           ///< type of the waiter's synchronization context; empty: none
  /// Type of the task scheduler of the program's own that is to run its end or the rest, as it seems: the one that the
  /// waiter's task is of. No other thread runs tasks of it, but such as wait for it, too. Empty: none.
  std::string scheduler;
  bool is_queued = false;  ///< its end, or the rest of it, lies in the thread pool's queue
  bool is_cut = false;     ///< too long, or tasks in a circle
  bool gives_up = false;   ///< a step of it ends by itself some time: Task.WaitAsync
  /// Chains of a scan of the heap that differ in their objects alone; those told are of the first that is due.
  std::uint32_t count = 1;
  friend bool operator==(const AsyncChain&, const AsyncChain&) = default;
};

/// Equal items of the thread pool's queues.
struct QueuedWork {
  std::string what;              ///< a method, or what the item is
  bool is_continuation = false;  ///< the rest of an async method
  std::uint32_t count = 0;
  friend bool operator==(const QueuedWork&, const QueuedWork&) = default;
};

/// The thread pool of a runtime, as it counts itself.
struct ThreadPool {
  std::int32_t processing = 0;  ///< workers that have work
  std::int32_t existing = 0, goal = 0, min = 0, max = 0;
  std::int32_t blocked = 0;  ///< workers that wait in a way that the pool knows of (for tasks)
  std::uint32_t queued = 0;
  bool has_more = false;         ///< more is queued than was counted
  std::vector<QueuedWork> work;  ///< what is queued, the most frequent first; of the first items
  std::optional<std::chrono::milliseconds> since_dequeue;  ///< since an item was taken last; none of a core
  std::vector<std::uint32_t> busy;                         ///< threads that have work, idle ones
  std::vector<std::uint32_t> idle;
};

/// Timers that have not gone off.
struct Timers {
  std::uint32_t count = 0;
  std::uint32_t delays = 0;                           ///< of Task.Delay
  std::uint32_t timeouts = 0;                         ///< of a CancellationTokenSource
  std::optional<std::chrono::milliseconds> next_due;  ///< negative: it is late. None: no timer, or of a core
  bool has_more = false;
};

/// What a runtime's program has to do besides what its threads do.
struct PendingWork {
  std::optional<ThreadPool> pool;  ///< none: there is none yet, or it cannot be told
  std::optional<Timers> timers;
  /// Those that threads wait for, then those that end in timers or the pool's queue or, with `heap`, all others.
  std::vector<AsyncChain> chains;
  bool has_more_chains = false;
  std::optional<GcState> gc;      ///< none: it cannot be told
  std::optional<HeapScan> heap;   ///< with `DumpOptions::heap`
  std::string no_heap;            ///< why there is none, though it was asked for
  std::vector<Request> requests;  ///< that threads or chains work on
  bool has_more_requests = false;
};

}  // namespace mixstack
