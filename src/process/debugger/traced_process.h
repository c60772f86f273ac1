// A debugged process, as its tracer knows it.
#pragma once

#include <memory>
#include <vector>

#include "process/debugger/debug_session.h"
#include "process/debugger/event_queue.h"
#include "process/debugger/library_watch.h"
#include "process/debugger/process_status.h"
#include "process/debugger/program.h"
#include "process/debugger/tracee_group.h"

namespace mixstack::process {

/// Belongs to the tracer, except `pid` and `status`. Requests are documented by DebuggedProcess; here are those that
/// wait for nothing.
struct TracedProcess {
  /// How far a launched program has come on its way to where it is held.
  enum class Startup : std::uint8_t { exec, linker, done };

  /// Borrows queue and index.
  TracedProcess(std::uint32_t id, std::shared_ptr<Program> runs, const DebugOptions& wishes, EventQueue& queue,
                TraceeIndex& index);

  const std::uint32_t pid;
  DebugOptions options;
  std::shared_ptr<Program> program;
  std::uint64_t generation = 0;  ///< counts execs
  TraceeGroup threads;
  LibraryWatch libraries;
  Startup startup = Startup::done;
  unsigned startup_steps = 0;  ///< on that way: instructions that may still be made one at a time
  bool is_stepping = false;    ///< the next SIGTRAP is the end of such a step
  bool would_step = false;     ///< the kernel would go on stepping the thread if we were gone
  bool stop_reported = false;  ///< `stopped` was emitted since all threads were held
  std::shared_ptr<DebuggedProcess> handle;
  ProcessStatus status;

  // Requests; only while it is debugged
  void resume();
  [[nodiscard]] Result<void> resume(ThreadId tid);
  void remove_guard(std::uint64_t id);
  [[nodiscard]] Result<void> kill() const;
  [[nodiscard]] std::vector<ThreadId> list_threads();
  [[nodiscard]] Result<RegisterSet> registers(ThreadId tid);
  [[nodiscard]] Result<std::vector<LoadedLibrary>> list_libraries();
  [[nodiscard]] Result<Address> library_trap();

  // Changes, told as events
  Tracee& add_thread(ThreadId tid);
  void hold_all();
  /// Holds the process if `hold_at` names this event.
  void hold_at(DebugEventKind kind);
  /// Every thread but `t` has gone, and the program is another.
  void take_exec(Tracee& t);
  void take_end(const TraceeReport& end);
  void check_libraries();
  /// The main thread may end before the others. It stays as a zombie that never stops, and of which nothing is reported
  /// until they have ended, too.
  void find_ended_main_thread();
  void report_if_still();
  void emit(DebugEvent event);

  /// To be called after every change of wishes or threads.
  void publish();
  /// Whether the kernel says that we trace it: a thread that another's exec has replaced vanishes without a report.
  [[nodiscard]] bool is_ours(ThreadId tid) const;

 private:
  EventQueue& events_;
};

}  // namespace mixstack::process
