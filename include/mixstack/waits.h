// The objects that threads wait for, as plain data: used by `mixstack why` and in the headers of threads.
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
  recorded,  ///< the runtime or the kernel records it
  proved,    ///< implied by objects on the thread's stack and by what these point back at
  likely,    ///< one object of the right type in the right frame; nothing points back at it
};
[[nodiscard]] std::string_view to_string(Proof proof);

/// The kind of thing that a thread is blocked on.
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
  class_constructor,  ///< another thread runs a static constructor that is needed
  callback,           ///< the end of a CancellationToken's callback whose registration is being disposed of
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

/// An object that threads or tasks wait for.
struct WaitedObject {
  Address address = 0;
  std::string type;    ///< C# name; for a type object, the type it represents: `typeof(Bank)`
  std::string detail;  ///< its state, short: "count 0, 3 wait"; empty: none
  friend bool operator==(const WaitedObject&, const WaitedObject&) = default;
};

/// Another process that a thread waits for, as it was looked at without a stop.
struct OtherProcess {
  /// Whether one of its threads waits for something that this process has to do.
  enum class WaitsForUs : std::uint8_t {
    no,         ///< or it cannot be told
    may,        ///< for words of ours, or our end, as idle servers do, too
    is_held_up  ///< for a lock that we hold, or until we read what it writes
  };
  std::uint32_t pid = 0;
  std::uint32_t thread = 0;  ///< the one that holds it; 0: not known
  std::string name{};        ///< the kernel's
  bool holds = false;        ///< it owns the lock, or does not read what we write
  bool is_stopped = false;   ///< by a signal, until SIGCONT
  WaitsForUs waits_for_us = WaitsForUs::no;
  std::string doing{};        ///< "waits for the end of this process"; empty: it is not known
  std::int64_t syscall = -1;  ///< if `doing` is empty: the call that its only thread waits in
  std::uint64_t cpu = 0;      ///< nanoseconds that the thread which `doing` is about has run; 0: not known
  friend bool operator==(const OtherProcess&, const OtherProcess&) = default;
};

/// Subject of a diagnosis of a dump: why waits of a runtime's threads are not known.
inline constexpr std::string_view kWaitsSubject = "waits";

/// The wait of one thread. Thread ids are those of the dump.
struct ThreadWait {
  WaitKind kind = WaitKind::none;
  Proof proof = Proof::likely;
  WaitedObject object;
  std::vector<WaitedObject> others;  ///< for `all_tasks`, `any_task`, `wait_handles`: all objects waited for
  std::uint32_t more_others = 0;     ///< tasks that it waits for besides those of `others`
  std::string method;  ///< for tasks: C# name of the async method whose task `object` is; empty: not of one
  std::vector<std::uint32_t> owners;      ///< threads that hold it or run it; empty: none, or not known
  std::vector<OtherProcess> processes{};  ///< processes that must act before the wait ends: all of them, or none
  bool owner_has_ended = false;           ///< for a monitor or lock: its owner has ended
  bool is_reading = false;                ///< for a reader-writer lock: waits to read
  std::uint32_t waiters = 0;              ///< number of waiters that the object itself counts; 0: not counted
  std::optional<std::chrono::milliseconds> timeout;  ///< none: no timeout, or not known
  bool gives_up = false;         ///< may time out at a time that is not known; then there is no `timeout`
  std::int32_t descriptor = -1;  ///< for a socket object: its file descriptor; -1: not known
  friend bool operator==(const ThreadWait&, const ThreadWait&) = default;
};

}  // namespace mixstack
