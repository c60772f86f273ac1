// The calls of ptrace(2) that stop threads and let them go, and what wait(2) reports of them.
#pragma once

#include <cstdint>
#include <optional>

#include "mixstack/target.h"

namespace mixstack::process {

enum class TraceeEvent : std::uint8_t {
  signal,       ///< stopped before the delivery of signal `value`
  system_call,  ///< stopped at one, after `ptrace_continue_to_system_call`
  stop,         ///< PTRACE_EVENT_STOP: stopped on demand, or a newborn thread before its first instruction
  job_stop,     ///< the same in a job-control stop (group-stop) by signal `value`
  clone,        ///< stopped after it made a thread or process, `ptrace_new_task`
  fork,
  vfork,
  exec,
  other,   ///< stopped for another reason
  exited,  ///< ended; `value` is the exit status
  killed,  ///< ended by signal `value`
  gone,    ///< the kernel knows no such tracee of ours (any more)
};

struct TraceeReport {
  ThreadId tid = 0;
  TraceeEvent event = TraceeEvent::other;
  int value = 0;
  bool core_dumped = false;
  [[nodiscard]] bool is_stop() const { return event <= TraceeEvent::other; }
  [[nodiscard]] bool is_end() const { return event == TraceeEvent::exited || event == TraceeEvent::killed; }
};

/// The status that waitpid answers.
[[nodiscard]] TraceeReport decode_wait_status(ThreadId tid, int status);

/// Takes a report of any child or tracee of this process, if there is one.
[[nodiscard]] std::optional<TraceeReport> take_report();
/// The next report of a tracee, which is not taken. Nothing: there is none.
[[nodiscard]] std::optional<TraceeReport> peek_report(ThreadId tid);
/// The stop that a tracee is in, even if its report was taken. Nothing: it is in no stop.
[[nodiscard]] std::optional<TraceeReport> present_stop(ThreadId tid);
/// Takes the report of an end, if there is one.
void collect_end(ThreadId tid);

/// To be called by the tracer of the thread. Calls that answer bool: false if the thread is in no stop; if it was in
/// one, it is being killed, and its end will be reported.
[[nodiscard]] int ptrace_seize(ThreadId tid, long options);  ///< 0 or errno
void ptrace_interrupt(ThreadId tid);
bool ptrace_continue(ThreadId tid, int signal);
[[nodiscard]] bool ptrace_continue_to_system_call(ThreadId tid, int signal);
/// One instruction; then it stops before the delivery of a SIGTRAP.
[[nodiscard]] bool ptrace_step(ThreadId tid, int signal);
/// Only from a job-control stop, which it stays in until SIGCONT comes.
[[nodiscard]] bool ptrace_listen(ThreadId tid);
bool ptrace_detach(ThreadId tid, int signal = 0);
/// The task that a thread at `clone`, `fork` or `vfork` made; 0: unknown.
[[nodiscard]] ThreadId ptrace_new_task(ThreadId tid);

}  // namespace mixstack::process
