// What users wish of a debugged process, and how its threads are brought to it.
#include <sys/ptrace.h>

#include <algorithm>
#include <csignal>

#include "target/debug/debug_tracer.h"
#include "target/live/thread_registers.h"

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;

constexpr auto kDetachLimit = 1s;

void* as_data(long value) { return reinterpret_cast<void*>(value); }

[[nodiscard]] std::vector<ThreadId> ids_of(const DebugRecord& record) {
  std::vector<ThreadId> tids;
  tids.reserve(record.tracees.size());
  for (const auto& [tid, t] : record.tracees) tids.push_back(tid);
  // The main thread first: were it still ours when a thread that we let go calls exec, it would vanish unreported.
  const auto main = std::find(tids.begin(), tids.end(), record.pid);
  if (main != tids.end()) std::rotate(tids.begin(), main, main + 1);
  return tids;
}

}  // namespace

void DebugTracer::go_on(Tracee& t) {
  const auto tid = static_cast<pid_t>(t.tid);
  // A refusal means that it is being killed: its end will be reported.
  if (t.job_stop != 0 && ::ptrace(PTRACE_LISTEN, tid, nullptr, nullptr) == 0) {
    t.state = Tracee::State::listening;
    return;
  }
  (void)::ptrace(PTRACE_CONT, tid, nullptr, as_data(t.signal));
  t.state = Tracee::State::running;
  t.signal = 0;
}

void DebugTracer::let_go(DebugRecord& record, Tracee& t) {
  const ThreadId tid = t.tid;
  if (::ptrace(PTRACE_DETACH, static_cast<pid_t>(tid), nullptr, as_data(t.signal)) != 0) {
    t.state = Tracee::State::running;  // being killed
    return;
  }
  by_tid_.erase(tid);
  record.tracees.erase(tid);
  remove_if_left(record);
}

/// After detach: nothing is left but, maybe, a main thread that ended before the others, which nobody can detach from.
void DebugTracer::remove_if_left(DebugRecord& record) {
  const auto has_ended = [](const auto& entry) { return entry.second.state == Tracee::State::ended; };
  if (!std::all_of(record.tracees.begin(), record.tracees.end(), has_ended)) return;
  for (const auto& [tid, t] : record.tracees) by_tid_.erase(tid);
  record.tracees.clear();
  remove_record(record);
}

/// Brings a thread that has stopped to what is wished of it. May erase `t`.
void DebugTracer::settle(DebugRecord& record, Tracee& t) {
  if (t.state != Tracee::State::stopped) return;
  if (record.leaving) return let_go(record, t);
  if (!record.wants_still(t)) return go_on(t);
  if (t.signal == 0 || t.keeps_signal) return;
  // The signal came before our stop did. Were it held back, it would be lost if we are killed: it is delivered now, and
  // the stop that is requested again comes before the thread's next instruction.
  (void)::ptrace(PTRACE_INTERRUPT, static_cast<pid_t>(t.tid), nullptr, nullptr);
  go_on(t);
}

void DebugTracer::settle_all(DebugRecord& record) {
  for (const ThreadId tid : ids_of(record))
    if (const auto t = record.tracees.find(tid); t != record.tracees.end()) settle(record, t->second);
}

void DebugTracer::interrupt_wanted(DebugRecord& record) {
  for (auto& [tid, t] : record.tracees)
    if (!DebugRecord::is_still(t) && record.wants_still(t))
      (void)::ptrace(PTRACE_INTERRUPT, static_cast<pid_t>(tid), nullptr, nullptr);
}

void DebugTracer::interrupt_all(DebugRecord& record) {
  for (auto& [tid, t] : record.tracees)
    if (!DebugRecord::is_still(t)) (void)::ptrace(PTRACE_INTERRUPT, static_cast<pid_t>(tid), nullptr, nullptr);
}

void DebugTracer::hold_all(DebugRecord& record) {
  if (!record.paused) record.stop_reported = false;
  record.paused = true;
  for (auto& [tid, t] : record.tracees) t.held = true;
  record.publish();
  interrupt_wanted(record);
}

void DebugTracer::report_if_still(DebugRecord& record) {
  if (!record.paused || record.stop_reported || record.leaving || record.tracees.empty()) return;
  const auto is_still = [](const auto& entry) { return DebugRecord::is_still(entry.second); };
  if (!std::all_of(record.tracees.begin(), record.tracees.end(), is_still)) return;
  record.stop_reported = true;
  emit(record, {.kind = DebugEventKind::stopped});
}

/// The main thread may end before the others. It stays as a zombie that never stops, and of which nothing is reported
/// until they have ended, too.
void DebugTracer::find_ended_main_thread(DebugRecord& record) {
  const auto main = record.tracees.find(record.pid);
  if (main == record.tracees.end() || record.tracees.size() < 2 || DebugRecord::is_still(main->second)) return;
  const auto stat = record.program->proc.thread_stat(record.pid);
  if (!stat || (stat->state != 'Z' && stat->state != 'X')) return;
  main->second.state = Tracee::State::ended;
  record.publish();
  emit(record, {.kind = DebugEventKind::thread_exited, .tid = record.pid});
  report_if_still(record);
}

Result<void> DebugTracer::check(const DebugRecord& record) {
  const std::lock_guard lock(record.shared.mutex);
  if (record.shared.phase == DebugRecord::Phase::ended) return fail(ErrorCode::no_such_process, record.pid);
  if (record.shared.phase == DebugRecord::Phase::detached) return fail(ErrorCode::not_found, record.pid);
  return {};
}

Result<void> DebugTracer::pause(DebugRecord& record, Clock::time_point deadline) {
  if (auto there = check(record); !there) return there;
  hold_all(record);
  report_if_still(record);
  const bool settled = wait_until_settled(record, deadline);
  if (auto there = check(record); !there) return there;
  if (!settled) return fail(ErrorCode::thread_not_stopped, record.straggler());
  return {};
}

Result<void> DebugTracer::resume(DebugRecord& record) {
  if (auto there = check(record); !there) return there;
  record.paused = false;
  for (auto& [tid, t] : record.tracees) t.held = false;
  record.publish();
  settle_all(record);
  return {};
}

Result<void> DebugTracer::pause(DebugRecord& record, ThreadId tid, Clock::time_point deadline) {
  if (auto there = check(record); !there) return there;
  const auto found = record.tracees.find(tid);
  if (found == record.tracees.end() || found->second.state == Tracee::State::ended)
    return fail(ErrorCode::no_such_thread, tid);
  found->second.held = true;
  record.publish();
  interrupt_wanted(record);
  auto is_still = [&] {
    const auto t = record.tracees.find(tid);
    return t == record.tracees.end() || DebugRecord::is_still(t->second);
  };
  const bool settled = wait_until(is_still, deadline);
  if (auto there = check(record); !there) return there;
  if (!record.tracees.contains(tid)) return fail(ErrorCode::no_such_thread, tid);
  if (!settled) return fail(ErrorCode::thread_not_stopped, tid);
  return {};
}

Result<void> DebugTracer::resume(DebugRecord& record, ThreadId tid) {
  if (auto there = check(record); !there) return there;
  const auto found = record.tracees.find(tid);
  if (found == record.tracees.end()) return fail(ErrorCode::no_such_thread, tid);
  record.paused = false;
  found->second.held = false;
  record.publish();
  settle(record, found->second);
  return {};
}

Result<std::uint64_t> DebugTracer::add_guard(DebugRecord& record, std::span<const ThreadId> tids,
                                             Clock::time_point deadline, bool must_stop) {
  if (auto there = check(record); !there) return fail(there.error());
  Guard guard{next_guard_++, tids.empty(), {tids.begin(), tids.end()}};
  std::sort(guard.tids.begin(), guard.tids.end());
  for (const ThreadId tid : guard.tids)
    if (!record.tracees.contains(tid)) return fail(ErrorCode::no_such_thread, tid);
  record.guards.push_back(guard);
  interrupt_wanted(record);
  // Others' stragglers are not waited for.
  ThreadId late = 0;
  auto next_look = Clock::now();
  auto settled = [&] {
    if (Clock::now() >= next_look) find_ended_main_thread(record);
    next_look = std::max(next_look, Clock::now() + 2ms);
    late = 0;
    for (const auto& [tid, t] : record.tracees)
      if (guard.covers(tid) && !DebugRecord::is_still(t)) late = tid;
    return late == 0;
  };
  const bool in_time = wait_until(settled, deadline);
  auto there = check(record);
  if (there && (in_time || !must_stop)) return guard.id;
  remove_guard(record, guard.id);
  return there ? fail(ErrorCode::thread_not_stopped, late) : fail(there.error());
}

void DebugTracer::remove_guard(DebugRecord& record, std::uint64_t id) {
  std::erase_if(record.guards, [&](const Guard& g) { return g.id == id; });
  settle_all(record);
}

void DebugTracer::leave(DebugRecord& record) {
  record.leaving = true;
  {
    const std::lock_guard lock(record.shared.mutex);
    record.shared.phase = DebugRecord::Phase::detached;
  }
  record.publish();
  record.handle.reset();
  publish_count();
  settle_all(record);
  remove_if_left(record);
}

Result<void> DebugTracer::detach(DebugRecord& record, bool leave_stopped) {
  auto guard = add_guard(record, {}, Clock::now() + kDetachLimit, false);
  if (!guard) return fail(guard.error());
  // It takes effect before any thread that is let go below runs an instruction.
  if (leave_stopped) (void)::kill(static_cast<pid_t>(record.pid), SIGSTOP);
  emit(record, {.kind = DebugEventKind::detached});
  leave(record);
  return {};
}

Result<void> DebugTracer::kill(DebugRecord& record) {
  if (auto there = check(record); !there) return there;
  if (::kill(static_cast<pid_t>(record.pid), SIGKILL) != 0)
    return fail(ErrorCode::permission_denied, record.pid, errno);
  return {};
}

Result<std::vector<ThreadId>> DebugTracer::threads(DebugRecord& record) {
  if (auto there = check(record); !there) return fail(there.error());
  find_ended_main_thread(record);
  std::vector<ThreadId> tids;
  for (const auto& [tid, t] : record.tracees)
    if (t.state != Tracee::State::ended) tids.insert(tid == record.pid ? tids.begin() : tids.end(), tid);
  return tids;
}

Result<RegisterSet> DebugTracer::registers(DebugRecord& record, ThreadId tid) const {
  if (auto there = check(record); !there) return fail(there.error());
  const auto found = record.tracees.find(tid);
  if (found == record.tracees.end()) return fail(ErrorCode::no_such_thread, tid);
  if (found->second.state != Tracee::State::stopped) return fail(ErrorCode::thread_not_stopped, tid);
  return read_thread_registers(static_cast<pid_t>(tid));
}

Result<std::vector<LoadedLibrary>> DebugTracer::libraries(DebugRecord& record) {
  if (auto there = check(record); !there) return fail(there.error());
  check_libraries(record);
  if (!record.libraries.empty()) return record.libraries;
  Program& program = *record.program;
  const auto state = program.links.read(program.memory, program.info.executable);
  const bool at_work = state ? !state->consistent : state.error().code == ErrorCode::process_changed;
  if (at_work) return fail(ErrorCode::process_changed, record.pid);
  return record.libraries;
}

Result<Address> DebugTracer::library_trap(DebugRecord& record) {
  if (auto there = check(record); !there) return fail(there.error());
  check_libraries(record);
  return record.program->links.trap(record.program->memory);
}

}  // namespace mixstack::target
