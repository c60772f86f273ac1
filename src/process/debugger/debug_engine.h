// Brings requests from any thread to the tracer and its answers back.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/system/scoped_fd.h"
#include "process/debugger/debug_tracer.h"
#include "process/debugger/event_queue.h"
#include "process/kernel/tracer_process.h"

namespace mixstack::process {

/// The state that a session, its handles and its targets share. Lives as long as any of them; the tracer ends with the
/// session. Thread-safe.
class DebugEngine : public std::enable_shared_from_this<DebugEngine> {
 public:
  /// Errors: `internal`.
  [[nodiscard]] static Result<std::shared_ptr<DebugEngine>> start();
  DebugEngine();
  ~DebugEngine();
  DebugEngine(const DebugEngine&) = delete;
  DebugEngine& operator=(const DebugEngine&) = delete;

  /// Ends the tracer, which lets everything go. Idempotent.
  void shut_down();

  /// Runs `work(tracer)`, which answers a Result<T>, in the tracer, and waits for its answer. Errors of its own:
  /// `not_found` after `shut_down`, `internal` when the tracer was killed, `invalid_argument` in a forked child.
  template <class Work>
  [[nodiscard]] std::invoke_result_t<Work&, DebugTracer&> ask(Work work) {
    std::optional<std::invoke_result_t<Work&, DebugTracer&>> answer;
    if (auto sent = run([&] { answer.emplace(work(tracer_)); }); !sent) return fail(sent.error());
    return std::move(*answer);
  }

  /// The same for a process, if it is debugged. Errors before those: see ProcessStatus. An ended process stays ended,
  /// also when its session is destroyed, so that answer needs no tracer.
  template <class Work>
  [[nodiscard]] std::invoke_result_t<Work&, DebugTracer&> ask(const TracedProcess& process, Work work) {
    if (auto there = process.status.check(); !there) return fail(there.error());
    return ask([&](DebugTracer& tracer) -> std::invoke_result_t<Work&, DebugTracer&> {
      if (auto there = process.status.check(); !there) return fail(there.error());
      return work(tracer);
    });
  }

  [[nodiscard]] EventQueue& events() { return events_; }
  [[nodiscard]] pid_t tracer_pid() const { return process_->pid(); }

 private:
  struct Request {
    std::function<void()> work;
    bool done = false;
  };
  enum class State : std::uint8_t { running, stopping, ended };

  [[nodiscard]] Result<void> run(std::function<void()> work);
  void serve();
  void answer_requests();
  void wake() const;

  EventQueue events_;
  DebugTracer tracer_;
  base::ScopedFd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request*> requests_;
  State state_ = State::running;
  bool was_shut_down_ = false;
  std::unique_ptr<TracerProcess> process_;
};

/// The handle of a process.
[[nodiscard]] std::shared_ptr<DebuggedProcess> make_debugged_process(std::shared_ptr<DebugEngine> engine,
                                                                     ProcessPointer process);
/// `DebuggedProcess::open_target`.
[[nodiscard]] Result<std::unique_ptr<Target>> make_debug_target(std::shared_ptr<DebugEngine> engine,
                                                                ProcessPointer process);

}  // namespace mixstack::process
