// A capture of a process by the tracer that it has.
#include <algorithm>

#include "target/debug/debug_tracer.h"
#include "target/debug/held_capture.h"

namespace mixstack::target {
namespace {

[[nodiscard]] std::vector<ThreadId> asked_for(const DebugRecord& record, const CaptureRequest& request) {
  const auto& asked = request.threads;
  std::vector<ThreadId> tids;
  for (const auto& [tid, t] : record.tracees) {
    if (t.state == Tracee::State::ended) continue;
    if (asked.empty() || std::find(asked.begin(), asked.end(), tid) != asked.end()) tids.push_back(tid);
  }
  return tids;
}

}  // namespace

Result<Capture> DebugTracer::capture(DebugRecord& record, std::uint64_t generation, const CaptureRequest& request) {
  if (auto there = check(record); !there) return fail(there.error());
  if (record.generation != generation) return fail(ErrorCode::process_changed, record.pid);
  const auto tids = asked_for(record, request);
  const bool whole_process = request.threads.empty();
  if (tids.empty()) return fail(ErrorCode::no_such_thread, whole_process ? record.pid : request.threads.front());
  const auto program = record.program;
  HeldCapture held(*program, request);
  held.prepare(tids);

  const auto begin = Clock::now();
  const std::span<const ThreadId> guarded = whole_process ? std::span<const ThreadId>() : tids;
  auto guard = add_guard(record, guarded, begin + request.stop_timeout, false);
  if (!guard) return fail(guard.error());
  const bool changed = record.generation != generation;
  if (!changed) held.copy(asked_for(record, request), [&](ThreadId tid) { return registers(record, tid); });
  remove_guard(record, *guard);
  if (changed) return fail(ErrorCode::process_changed, record.pid);

  const auto pause = Clock::now() - begin;
  Capture capture = held.take();
  capture.pause = pause;
  if (capture.threads.empty()) return fail(ErrorCode::no_such_process, record.pid);
  return capture;
}

}  // namespace mixstack::target
