// What threads wait for, as plain data: what `mixstack why` reasons about and headers of threads show.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"

namespace mixstack {

/// How sure a statement about a wait is, surest first.
enum class Proof : std::uint8_t {
  recorded,  ///< the runtime or the kernel keeps a record of it
  proved,    ///< objects on the thread's stack, and what they point back at, allow nothing else
  likely,    ///< one object of the right type in the right frame; nothing points back at it
};
[[nodiscard]] std::string_view to_string(Proof proof);

/// What a thread is blocked on.
enum class WaitKind : std::uint8_t {
  none,
  monitor,       ///< entering a monitor (`lock`, Monitor.Enter, a synchronized method)
  monitor_wait,  ///< Monitor.Wait: for a pulse
  lock,          ///< entering a System.Threading.Lock
  condition,     ///< a condition of a System.Threading.Lock
  semaphore_slim,
  reset_event_slim,  ///< ManualResetEventSlim
  task,              ///< a task's result, or Task.Wait
  all_tasks,         ///< Task.WaitAll
  any_task,          ///< Task.WaitAny
  countdown,         ///< CountdownEvent
  barrier,
  blocking_collection,
  reader_writer_lock,  ///< ReaderWriterLockSlim
  wait_handle,         ///< an event, mutex or semaphore of the operating system's kind
  wait_handles,        ///< several of them
  thread_join,
  child_process,      ///< Process.WaitForExit
  class_constructor,  ///< another thread runs the constructor of a class that is needed
  callback,           ///< the end of a CancellationToken's callback, whose registration is disposed of
  finalizers,         ///< GC.WaitForPendingFinalizers
  native_mutex,       ///< a pthread mutex (the runtime's own locks, too)
  native_rwlock,      ///< a pthread read-write lock
  native_condition,
  file,  ///< a system call on a file, terminal or device
  socket,
  pipe,
  poll,  ///< epoll, poll or select: for any of several descriptors
  sleep,
};
[[nodiscard]] std::string_view to_string(WaitKind kind);

/// Something that threads or tasks wait for.
struct WaitedObject {
  Address address = 0;
  std::string type;    ///< C# name; of a type object, the type that it stands for: `typeof(Bank)`
  std::string detail;  ///< its state, short: "count 0, 3 wait"; empty: nothing to say
  friend bool operator==(const WaitedObject&, const WaitedObject&) = default;
};

/// Subject of a diagnosis of a dump: why waits of a runtime's threads are not told.
inline constexpr std::string_view kWaitsSubject = "waits";

/// What one thread waits for. Ids of threads as in the dump.
struct ThreadWait {
  WaitKind kind = WaitKind::none;
  Proof proof = Proof::likely;
  WaitedObject object;
  std::vector<WaitedObject> others;   ///< of `all_tasks`, `any_task`, `wait_handles`: all that it waits for
  std::uint32_t more_others = 0;      ///< tasks that it waits for besides those of `others`
  std::string method;                 ///< of tasks: C# name of the async method whose task `object` is; empty: another
  std::vector<std::uint32_t> owners;  ///< threads that hold it, or run it; empty: nobody, or nobody can know
  bool owner_has_ended = false;       ///< of a monitor or lock: the thread that holds it is no more
  bool is_reading = false;            ///< of a reader-writer lock: wants to read
  std::uint32_t waiters = 0;          ///< threads that wait for it, as it counts itself; 0: it does not say
  std::optional<std::chrono::milliseconds> timeout;  ///< none: for ever, or not told
  bool gives_up = false;         ///< ends by itself at some time that is not told: then there is no `timeout`
  std::int32_t descriptor = -1;  ///< of a socket that an object stands for: its file descriptor; -1: not known
  friend bool operator==(const ThreadWait&, const ThreadWait&) = default;
};

}  // namespace mixstack
