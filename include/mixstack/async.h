// Async methods that have not ended, the thread pool and timers, as plain data. All text is UTF-8, printable and
// bounded.
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

/// The operation that the innermost method of a chain awaits.
enum class AsyncEnd : std::uint8_t {
  unknown,
  running,    ///< nothing: the method runs, or is about to
  yielded,    ///< its own turn: Task.Yield, or an awaiter that keeps nothing
  completed,  ///< nothing any more: the awaited operation has ended, the continuation has not begun
  delay,      ///< Task.Delay
  all_tasks,  ///< Task.WhenAll
  any_task,   ///< Task.WhenAny
  promise,    ///< a TaskCompletionSource: its completer is not recorded
  semaphore,  ///< SemaphoreSlim.WaitAsync
  socket,     ///< an operation of a socket
  work,       ///< a task with a method of its own (Task.Run)
  source,     ///< another IValueTaskSource: channels, pipes
  cycle,      ///< an await cycle: one of the chain's own methods, so none of these can continue
};
[[nodiscard]] std::string_view to_string(AsyncEnd end);

/// One async method that has begun and not ended.
struct AsyncStep {
  std::string method;  ///< C# name, as in its frames
  Address box = 0;     ///< the object that holds its state: the task that its caller received
  /// Number of the await at which it is suspended, from 0 in source order; -1: it runs, or is about to.
  std::int32_t state = -1;
  std::vector<ProgramValue> values{};  ///< parameters and locals; only with `DumpOptions::data`
  friend bool operator==(const AsyncStep&, const AsyncStep&) = default;
};

/// Async methods of which each awaits the next, outermost first. Thread ids are those of the dump.
struct AsyncChain {
  std::vector<AsyncStep> steps;  ///< may be empty: a thread waits for a task that belongs to no async method
  AsyncEnd end = AsyncEnd::unknown;
  WaitedObject awaited;          ///< `detail`: remote address, for `socket`; `address`: a step's `box`, for `cycle`
  std::int32_t descriptor = -1;  ///< of `socket`; -1: not known
  std::string work;              ///< of `work`: the method
  std::optional<std::chrono::milliseconds> due;  ///< of `delay`: from the capture on; negative: it is late
  Proof proof = Proof::proved;                   ///< proved: each awaited object points back at its awaiter
  std::uint32_t waiter = 0;                      ///< the thread that waits for the outermost; 0: none
  std::uint32_t runner = 0;                      ///< the thread that runs its end; 0: none
  std::string context;                           ///< type of the waiter's synchronization context; empty: none
  /// Type of the program's own task scheduler that is inferred to run its end or the continuation: the scheduler of the
  /// waiter's task. Only threads that wait for such a task may run it besides. Empty: none.
  std::string scheduler;
  bool is_queued = false;  ///< its end or its continuation is in the thread pool's queue
  bool is_cut = false;     ///< too long, or a cycle of tasks
  bool gives_up = false;   ///< may time out: a step of it ends by itself (Task.WaitAsync)
  /// Equal chains of a heap scan: they differ only in their objects. The objects given are those of the first that is
  /// due.
  std::uint32_t count = 1;
  friend bool operator==(const AsyncChain&, const AsyncChain&) = default;
};

/// Equal items of the thread pool's queues.
struct QueuedWork {
  std::string what;              ///< a method, or the type of the item
  bool is_continuation = false;  ///< a continuation of an async method
  std::uint32_t count = 0;
  friend bool operator==(const QueuedWork&, const QueuedWork&) = default;
};

/// The thread pool of a runtime, as it counts itself.
struct ThreadPool {
  std::int32_t processing = 0;  ///< workers that have work
  std::int32_t existing = 0, goal = 0, min = 0, max = 0;
  std::int32_t blocked = 0;  ///< workers in waits that the pool knows of (for tasks)
  std::uint32_t queued = 0;
  bool has_more = false;                                   ///< more is queued than was counted
  std::vector<QueuedWork> work;                            ///< the first queued items, most frequent first
  std::optional<std::chrono::milliseconds> since_dequeue;  ///< since the last item was taken; none for a core
  std::vector<std::uint32_t> busy;                         ///< worker threads with work
  std::vector<std::uint32_t> idle;
};

/// Timers that have not fired.
struct Timers {
  std::uint32_t count = 0;
  std::uint32_t delays = 0;                           ///< of Task.Delay
  std::uint32_t timeouts = 0;                         ///< of a CancellationTokenSource
  std::optional<std::chrono::milliseconds> next_due;  ///< negative: overdue. None: no timer, or a core
  bool has_more = false;
};

/// Work of a runtime's program beside that of its threads.
struct PendingWork {
  std::optional<ThreadPool> pool;  ///< none: not created yet, or not readable
  std::optional<Timers> timers;
  /// First chains that threads wait for, then those that end in timers or the pool's queue or, with `heap`, all others.
  std::vector<AsyncChain> chains;
  bool has_more_chains = false;
  std::optional<GcState> gc;      ///< none: not readable
  std::optional<HeapScan> heap;   ///< with `DumpOptions::heap`
  std::string no_heap;            ///< why there is no `heap` although it was requested
  std::vector<Request> requests;  ///< those that threads or chains work on
  bool has_more_requests = false;
};

}  // namespace mixstack
