// Processes that are debugged: held stopped and continued on demand, watched while they run.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/debugger/debug_event.h"
#include "process/kernel/register_set.h"

namespace mixstack::process {

class DebugEngine;
class DebugSession;
class ThreadHold;

/// How a process is debugged. Children that are followed inherit it.
struct DebugOptions {
  bool follow_children =
      false;                  ///< debug what it forks; else children run free, untraced, from their first instruction
  bool hold = false;          ///< attach: stop it at once (launched ones always begin held)
  bool kill_with_us = false;  ///< launched ones only: dies when the session or its host does
  DebugEventSet report = DebugEventSet::all();  ///< what is queued for `handle_events`
  DebugEventSet hold_at = {};  ///< kinds at which the whole process stops (as by `pause()`) until `resume()`: of use
                               ///< for forked, execed, signalled, thread_created and the library kinds
};

struct LaunchRequest {
  struct Descriptor {
    int in_child = 0;
    int of_host = -1;  ///< duplicated; -1: closed in the child
  };
  std::string executable;                               ///< a path; PATH is not searched
  std::vector<std::string> arguments;                   ///< argv[0] included; empty: the path
  std::optional<std::vector<std::string>> environment;  ///< "NAME=value"; nothing: the host's
  std::vector<Descriptor> descriptors;                  ///< those not named are the host's
  std::string working_directory;                        ///< empty: the host's
  /// How long the linker may take before the program is held wherever it is then. Emulated CPUs are slow.
  std::chrono::milliseconds startup_limit{10'000};
  DebugOptions options;
};

/// A process that is being debugged: one handle per process, given out by the session and by events. Thread-safe.
///
/// A thread stands still while anybody holds it: `pause()` (a switch, not a count: one `resume()` undoes any number),
/// or a ThreadHold (each counts). Nothing is ever written to the process: no memory, no register, no breakpoint.
///
/// Errors of every method, besides those named: `no_such_process` after it ended, `not_found` after it was detached or
/// its session was destroyed, `invalid_argument` in a child that the host forked, `internal` when the tracer was
/// killed.
class DebuggedProcess : public std::enable_shared_from_this<DebuggedProcess> {
 public:
  virtual ~DebuggedProcess() = default;

  [[nodiscard]] virtual std::uint32_t pid() const = 0;

  /// Stops all threads, and those that are born meanwhile. Answers when all stand still. If a signal stops a thread
  /// first, it is delivered before the thread is held, so none is ever held back. At the deadline `thread_not_stopped`
  /// (value is a tid that is in a vfork or an uninterruptible sleep): the others are held, that thread will be as soon
  /// as it can.
  [[nodiscard]] virtual Result<void> pause(std::chrono::milliseconds timeout = std::chrono::seconds(1)) = 0;
  /// Lets all threads go on, those of `pause(tid)` included; a process that is stopped by job control (SIGSTOP) returns
  /// to that stop. Threads that a ThreadHold holds go on when it lets go.
  [[nodiscard]] virtual Result<void> resume() = 0;
  /// The same for one thread. Errors: no_such_thread.
  [[nodiscard]] virtual Result<void> pause(ThreadId tid,
                                           std::chrono::milliseconds timeout = std::chrono::seconds(1)) = 0;
  [[nodiscard]] virtual Result<void> resume(ThreadId tid) = 0;

  /// Ends debugging; the process runs on, or stays in a job-control stop (SIGSTOP) with `leave_stopped`. A thread that
  /// cannot be stopped now is let go as soon as it can be.
  [[nodiscard]] virtual Result<void> detach(bool leave_stopped = false) = 0;
  /// SIGKILL; the end is reported as an event.
  [[nodiscard]] virtual Result<void> kill() = 0;

  /// It ended, by itself or by a signal. Never blocks; false after detach, since its end is no longer reported to us.
  [[nodiscard]] virtual bool is_terminated() const = 0;
  [[nodiscard]] virtual bool is_debugged() const = 0;
  /// At least one thread is not held. False when it ended; true after detach.
  [[nodiscard]] virtual bool is_running() const = 0;
  [[nodiscard]] virtual bool is_stopped(ThreadId tid) const = 0;
  /// How it ended: the fields of the last event (kind `exited` or `killed`, `value`, `core_dumped`), nothing before.
  [[nodiscard]] virtual std::optional<DebugEvent> end() const = 0;

  /// Ascending, but the main thread first.
  [[nodiscard]] virtual Result<std::vector<ThreadId>> threads() const = 0;
  /// Errors: no_such_thread, thread_not_stopped.
  [[nodiscard]] virtual Result<RegisterSet> registers(ThreadId tid) const = 0;
  /// Reads the program the process runs now, whether it stands still or not. Lives as long as the handle.
  [[nodiscard]] virtual const MemoryReader& memory() const = 0;
  /// Facts of the program it runs now. Refreshed by exec.
  [[nodiscard]] virtual TargetInfo info() const = 0;

  /// The dynamic linker's list as it is now (all namespaces, the vDSO as the linker names it); learned from r_debug.
  /// Empty for static programs and before the linker has begun. Errors: `process_changed` while the linker is at work
  /// on the list, if nothing was known before.
  [[nodiscard]] virtual Result<std::vector<LoadedLibrary>> libraries() const = 0;
  /// r_debug's r_brk: where other debuggers plant a trap to learn of changes. Only answered, never used. `not_found`
  /// when there is no r_debug (yet).
  [[nodiscard]] virtual Result<Address> library_trap_address() const = 0;

  /// The program it runs now as a Target, for CaptureWalk and the like: its `capture()` stops what is not held already,
  /// reads registers by the tracer that is there, and leaves every thread as it was before. After an exec it answers
  /// `process_changed`; open another. Use from one thread at a time. Independent of the handle's lifetime.
  [[nodiscard]] virtual Result<std::unique_ptr<Target>> open_target() = 0;

  /// Stops threads (empty: all, newborn ones included) until the guard is destroyed. Errors: no_such_thread,
  /// thread_not_stopped (nothing is held then).
  [[nodiscard]] Result<ThreadHold> stop(std::span<const ThreadId> tids = {},
                                        std::chrono::milliseconds timeout = std::chrono::seconds(1));

 private:
  friend class ThreadHold;
  [[nodiscard]] virtual Result<std::uint64_t> add_guard(std::span<const ThreadId> tids,
                                                        std::chrono::milliseconds timeout) = 0;
  virtual void remove_guard(std::uint64_t id) = 0;
};

/// Debugs any number of processes. Thread-safe.
///
/// One tracer does all ptrace work. It is a process of its own that shares the host's memory and files (clone with
/// CLONE_VM and CLONE_FILES), for the kernel tells every thread of a tracer's process of its tracees: were it a thread
/// of the host, the host's SIGCHLD handler would run for stops of debugged processes, its waitpid(-1) would take them
/// from us, and our waiting would take the ends of its children from it. So the host sees its own children and only
/// those (with __WALL also the tracer's end), no handler is installed, and launched processes are children of the
/// tracer. It dies with its host; then, as always when a tracer ends, the kernel lets every tracee go.
///
/// The cost: if kernel.yama.ptrace_scope is 1 and CAP_SYS_PTRACE is lacking, the host's own children cannot be attached
/// to (permission_denied); launch them instead.
class DebugSession {
 public:
  /// Errors: `internal` (no thread or no process can be made).
  [[nodiscard]] static Result<std::unique_ptr<DebugSession>> open();
  /// Detaches from all processes; those with `kill_with_us` die.
  ~DebugSession();
  DebugSession(const DebugSession&) = delete;
  DebugSession& operator=(const DebugSession&) = delete;

  /// Starts a program and holds it before its first instruction outside the dynamic linker: libraries are loaded and
  /// r_debug tells of them, no constructor has run. A static program is held at its entry. Signals are at their
  /// defaults, none is blocked. Errors: not_found, permission_denied, unsupported (not a program, another CPU),
  /// io_error; os_error says more. `no_such_process`: it ended before.
  [[nodiscard]] Result<std::shared_ptr<DebuggedProcess>> launch(const LaunchRequest& request);
  /// Begins to debug a running process without stopping it (but see `DebugOptions::hold`). `pid` may be any thread's.
  /// Errors: those of open_live, already_traced (value is the tracer, this session's own included).
  [[nodiscard]] Result<std::shared_ptr<DebuggedProcess>> attach(std::uint32_t pid, const DebugOptions& options = {});

  /// The handle of a process that is debugged now, or null.
  [[nodiscard]] std::shared_ptr<DebuggedProcess> find(std::uint32_t pid) const;
  /// All that are debugged now, by ascending pid.
  [[nodiscard]] std::vector<std::shared_ptr<DebuggedProcess>> processes() const;

  /// Readable exactly while events wait. Its one byte need not be read; a caller that reads it must handle the events
  /// next. For select, poll, epoll; never close it.
  [[nodiscard]] int event_fd() const;
  using EventHandler = std::function<void(const DebugEvent&)>;
  /// Adds a receiver of events; `remove_handler` with the number it answers ends that. Handlers run inside
  /// `handle_events`, in the thread that calls it, one event at a time, and may call everything here.
  std::uint64_t add_handler(EventHandler handler);
  void remove_handler(std::uint64_t id);
  /// Hands all waiting events to all handlers, in the order in which they happened; answers how many. Processes never
  /// wait for it. With `block`, waits for at least one, but not if nothing is debugged, for then none can come.
  std::size_t handle_events(bool block);
  /// Events of signals, threads and children that are not followed, dropped because 65,536 others waited to be handled.
  [[nodiscard]] std::uint64_t lost_events() const;

  /// The tracer's process id: what the kernel names as TracerPid.
  [[nodiscard]] std::uint32_t tracer_pid() const;

 private:
  explicit DebugSession(std::shared_ptr<DebugEngine> engine);
  class Handlers;
  std::shared_ptr<DebugEngine> engine_;
  std::unique_ptr<Handlers> handlers_;
};

/// Holds threads of a process until destroyed. Movable; may be destroyed in any thread. A process that ends meanwhile
/// is no error.
class ThreadHold {
 public:
  ThreadHold() = default;
  ThreadHold(ThreadHold&& other) noexcept;
  ThreadHold& operator=(ThreadHold&& other) noexcept;
  ThreadHold(const ThreadHold&) = delete;
  ThreadHold& operator=(const ThreadHold&) = delete;
  ~ThreadHold() { release(); }

  /// Lets go now. Idempotent.
  void release();
  /// Null when nothing is held.
  [[nodiscard]] const std::shared_ptr<DebuggedProcess>& process() const { return process_; }

 private:
  friend class DebuggedProcess;
  friend Result<ThreadHold> stop_process(std::uint32_t, std::span<const ThreadId>, std::chrono::milliseconds);
  ThreadHold(std::shared_ptr<DebuggedProcess> process, std::uint64_t id) : process_(std::move(process)), id_(id) {}

  std::shared_ptr<DebuggedProcess> process_;
  std::uint64_t id_ = 0;
  std::unique_ptr<DebugSession> session_;  ///< of `stop_process`: ends with the guard
};

/// Stops threads (empty: all) of a process that nobody debugs, until the guard is destroyed; then it runs untraced.
/// Errors: those of `DebugSession::attach` and `DebuggedProcess::stop`.
[[nodiscard]] Result<ThreadHold> stop_process(std::uint32_t pid, std::span<const ThreadId> tids = {},
                                              std::chrono::milliseconds timeout = std::chrono::seconds(1));

}  // namespace mixstack::process
