// Stops the threads of a process and lets them go again.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/kernel/ptrace.h"
#include "process/live/proc_dir.h"
#include "process/live/tracer.h"

namespace mixstack::process {

enum class StopPhase : std::uint8_t {
  pending,   ///< seized, stop requested or about to be
  stopped,   ///< in a ptrace stop: registers and memory stand still
  released,  ///< runs again, not traced
  gone,      ///< ended, or another program took its id by exec
  refused,   ///< could not be seized; `error` says why
};

struct StoppedThread {
  ThreadId tid = 0;
  StopPhase phase = StopPhase::pending;
  bool is_running = false;      ///< seen on a CPU before the stop: interrupted last, released first
  bool is_asked = false;        ///< by `interrupt`
  bool is_in_job_stop = false;  ///< by SIGSTOP or its like
  bool is_foreign = false;      ///< a process that a thread made while we traced it, not of the target
  std::int32_t signal = 0;      ///< its delivery was intercepted; released with it
  std::chrono::steady_clock::time_point moved_until;  ///< it was not seen to stand still by then
  Error error;
};

/// PTRACE_SEIZE and PTRACE_INTERRUPT for all threads of a process; never ATTACH, never SIGSTOP. Belongs to one tracer
/// thread (see tracer.h). Everything still held is released by the destructor, and by the kernel if the tracer
/// ends or is killed.
///
/// A signal whose delivery stops a thread before our request does is as good a stop: it is taken, and the signal is
/// given back at release. A thread in a group stop (SIGSTOP, SIGTSTP) leaves it for a ptrace stop and returns to it at
/// release, unless SIGCONT came meanwhile. Interrupted system calls are restarted by the kernel as under any debugger;
/// those it never restarts (signal(7): epoll_wait, semop, sigtimedwait ...) return EINTR.
class ThreadStopper {
 public:
  ThreadStopper(const ProcDir& proc, Tracer& tracer) : proc_(proc), tracer_(tracer) {}
  ~ThreadStopper() { release_all(); }
  ThreadStopper(const ThreadStopper&) = delete;
  ThreadStopper& operator=(const ThreadStopper&) = delete;

  void reserve(std::size_t n);
  /// Begins to trace a thread without disturbing it. The id could have been given to another process since it was
  /// listed: that is checked, unless the caller does so (`caller_looks`), which calls `check_owner` if it cannot tell.
  void seize(ThreadId tid, bool is_running, bool caller_looks = false);
  /// One that is not to be touched (words::kernel_task); counts as refused.
  void pass_over(ThreadId tid, std::uint64_t kernel_task);
  void check_owner(StoppedThread& t) const { t.is_foreign = !proc_.has_task(t.tid); }
  /// Asks every seized thread to stop.
  void interrupt_all();
  /// Asks those with the numbers [begin, end) in `threads`.
  void interrupt(std::size_t begin, std::size_t end);
  /// Waits until each of them stands still, or will never. False at the deadline. Others that were asked before and
  /// stand still by then are `stopped`, too.
  [[nodiscard]] bool wait_until_stopped(std::size_t begin, std::size_t end,
                                        std::chrono::steady_clock::time_point deadline);
  /// Waits for the stops. With `whole_process`, also finds, seizes and stops threads born meanwhile, until every thread
  /// stands still. False at the deadline: some are still `pending`, those born meanwhile among them.
  [[nodiscard]] bool wait_until_stopped(std::chrono::steady_clock::time_point deadline, bool whole_process);
  /// After `release_all`: waits until at least one more thread has stopped. False at the deadline.
  [[nodiscard]] bool wait_for_any(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool has_pending() const { return pending_ > 0; }
  /// Lets those stopped threads go that were running.
  void release_running();
  /// Lets every stopped thread go, those that were running first.
  void release_all();
  /// Lets those go that stopped after the deadline; to be called after `release_all`.
  void release_late();

  [[nodiscard]] std::span<StoppedThread> threads() { return threads_; }
  /// The process became another program during the stop.
  [[nodiscard]] bool has_execed() const { return execed_; }

 private:
  [[nodiscard]] bool sweep();
  [[nodiscard]] bool wait_for_pending(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool is_complete();
  void recheck_stopped();
  /// Takes what the kernel reports of a thread, if anything. True when its phase has changed.
  [[nodiscard]] bool poll(StoppedThread& t);
  void handle_stop(StoppedThread& t, const TraceeReport& stop);
  void probe_pending();
  [[nodiscard]] bool is_main(const StoppedThread& t) const;
  [[nodiscard]] bool is_known(ThreadId tid) const;
  void release(StoppedThread& t);

  const ProcDir& proc_;
  Tracer& tracer_;
  std::vector<StoppedThread> threads_;
  std::vector<ThreadId> newborns_;  // seized by the kernel for us, not yet in threads_
  std::size_t pending_ = 0;
  bool interrupting_ = false;
  bool execed_ = false;
};

}  // namespace mixstack::process
