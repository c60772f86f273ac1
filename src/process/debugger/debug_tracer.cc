#include "process/debugger/debug_tracer.h"

#include <algorithm>
#include <csignal>

#include "process/debugger/held_capture.h"

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;

constexpr auto kForgottenAfter = 1s;
constexpr auto kForgottenSlice = 100ms;
constexpr auto kReleaseLimit = 300ms;
constexpr auto kDeathLimit = 1s;
constexpr auto kDetachLimit = 1s;

[[nodiscard]] std::vector<ThreadId> asked_for(const TracedProcess& process, const CaptureRequest& request) {
  const auto& asked = request.threads;
  std::vector<ThreadId> tids;
  for (const auto& [tid, t] : process.threads.all()) {
    if (t.state == Tracee::State::ended) continue;
    if (asked.empty() || std::find(asked.begin(), asked.end(), tid) != asked.end()) tids.push_back(tid);
  }
  return tids;
}

}  // namespace

void DebugTracer::serve(int wake) {
  const bool has_loose_ends = !strays.early.empty() || table.has_leaving();
  const auto at_most = loop.is_behind() ? 0ms : has_loose_ends ? std::chrono::milliseconds(kForgottenSlice) : -1ms;
  loop.wait(at_most, wake);
  loop.turn();
  strays.release_early(Clock::now() - kForgottenAfter);
  table.look_after_leaving();
  table.drop_removed();
}

void DebugTracer::release_all() {
  const auto all = table.all();
  for (const auto& process : all) {
    if (process->options.kill_with_us) (void)::kill(static_cast<pid_t>(process->pid), SIGKILL);
    (void)process->threads.add_guard({});
    process->threads.interrupt_wanted();
  }
  const auto begin = Clock::now();
  for (const auto& process : all) {
    const bool dies = process->options.kill_with_us;
    const auto& threads = process->threads;
    auto settled = [&] { return threads.empty() || (!dies && threads.straggler() == 0); };
    (void)loop.wait_until(settled, begin + (dies ? kDeathLimit : kReleaseLimit));
    if (!threads.empty()) table.leave(*process);
  }
  strays.release_early(Clock::time_point::max());
}

Result<void> DebugTracer::detach(TracedProcess& process, bool leave_stopped) {
  auto guard = holds.add_guard(process, {}, Clock::now() + kDetachLimit, false);
  if (!guard) return fail(guard.error());
  // It takes effect before any thread that is let go below runs an instruction.
  if (leave_stopped) (void)::kill(static_cast<pid_t>(process.pid), SIGSTOP);
  process.emit({.kind = DebugEventKind::detached});
  table.leave(process);
  return {};
}

Result<Capture> DebugTracer::capture(TracedProcess& process, std::uint64_t generation, const CaptureRequest& request) {
  if (process.generation != generation) return fail(ErrorCode::process_changed, process.pid);
  const auto tids = asked_for(process, request);
  const bool whole_process = request.threads.empty();
  if (tids.empty()) return fail(ErrorCode::no_such_thread, whole_process ? process.pid : request.threads.front());
  const auto program = process.program;
  HeldCapture held(*program, request);
  held.prepare(tids);

  const auto begin = Clock::now();
  const std::span<const ThreadId> guarded = whole_process ? std::span<const ThreadId>() : tids;
  auto guard = holds.add_guard(process, guarded, begin + request.stop_timeout, false);
  if (!guard) return fail(guard.error());
  const bool changed = process.generation != generation;
  if (!changed) held.copy(asked_for(process, request), [&](ThreadId tid) { return process.registers(tid); });
  process.remove_guard(*guard);
  if (changed) return fail(ErrorCode::process_changed, process.pid);

  const auto pause = Clock::now() - begin;
  Capture capture = held.take();
  capture.pause = pause;
  if (capture.threads.empty()) return fail(ErrorCode::no_such_process, process.pid);
  return capture;
}

}  // namespace mixstack::process
