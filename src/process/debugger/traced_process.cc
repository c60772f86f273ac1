#include "process/debugger/traced_process.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "process/live/ptrace_refusal.h"
#include "process/live/thread_registers.h"

namespace mixstack::process {

TracedProcess::TracedProcess(std::uint32_t id, std::shared_ptr<Program> runs, const DebugOptions& wishes,
                             EventQueue& queue, TraceeIndex& index)
    : pid(id), options(wishes), program(std::move(runs)), threads(id, *this, index), status(id), events_(queue) {
  publish();
}

void TracedProcess::resume() {
  threads.release_all();
  publish();
  threads.settle_all();
}

Result<void> TracedProcess::resume(ThreadId tid) {
  Tracee* const t = threads.find(tid);
  if (t == nullptr) return fail(ErrorCode::no_such_thread, tid);
  threads.release(*t);
  publish();
  threads.settle(*t);
  return {};
}

void TracedProcess::remove_guard(std::uint64_t id) {
  threads.remove_guard(id);
  threads.settle_all();
}

Result<void> TracedProcess::kill() const {
  if (::kill(static_cast<pid_t>(pid), SIGKILL) != 0) return fail(ErrorCode::permission_denied, pid, errno);
  return {};
}

std::vector<ThreadId> TracedProcess::list_threads() {
  find_ended_main_thread();
  auto tids = threads.ids();
  std::erase_if(tids, [&](ThreadId tid) { return threads.find(tid)->state == Tracee::State::ended; });
  return tids;
}

Result<RegisterSet> TracedProcess::registers(ThreadId tid) {
  const Tracee* const t = threads.find(tid);
  if (t == nullptr) return fail(ErrorCode::no_such_thread, tid);
  if (t->state != Tracee::State::stopped) return fail(ErrorCode::thread_not_stopped, tid);
  return read_thread_registers(static_cast<pid_t>(tid));
}

Result<std::vector<LoadedLibrary>> TracedProcess::list_libraries() {
  check_libraries();
  return libraries.list(*program);
}

Result<Address> TracedProcess::library_trap() {
  check_libraries();
  return program->links.trap(program->memory);
}

Tracee& TracedProcess::add_thread(ThreadId tid) {
  Tracee& t = threads.add(tid);
  publish();
  if (tid != pid) {
    emit({.kind = DebugEventKind::thread_created, .tid = tid});
    hold_at(DebugEventKind::thread_created);
  }
  return t;
}

void TracedProcess::hold_all() {
  if (!threads.is_all_held()) stop_reported = false;
  threads.hold_all();
  publish();
  threads.interrupt_wanted();
}

void TracedProcess::hold_at(DebugEventKind kind) {
  if (options.hold_at.contains(kind) && !threads.is_leaving()) hold_all();
}

/// The thread that called exec has the main thread's id now; its old id vanished without a report.
void TracedProcess::take_exec(Tracee& t) {
  for (const ThreadId tid : threads.ids()) {
    if (tid == t.tid) continue;
    threads.remove(tid);
    emit({.kind = DebugEventKind::thread_exited, .tid = tid});
  }
  t.held = t.held || threads.is_all_held();
  generation++;
  libraries.begin({});
  if (auto runs = Program::open(pid)) program = std::move(*runs);
  publish();
  emit({.kind = DebugEventKind::execed, .tid = t.tid});
  if (startup == Startup::done) hold_at(DebugEventKind::execed);
}

void TracedProcess::take_end(const TraceeReport& end) {
  for (const ThreadId tid : threads.ids()) {
    threads.remove(tid);
    if (tid != pid) emit({.kind = DebugEventKind::thread_exited, .tid = tid});
  }
  DebugEvent event{.kind = DebugEventKind::exited, .pid = pid, .tid = pid, .value = end.value};
  if (end.event == TraceeEvent::killed) event.kind = DebugEventKind::killed;
  event.core_dumped = end.core_dumped;
  if (!threads.is_leaving()) status.set_ended(event);
  emit(std::move(event));
}

void TracedProcess::check_libraries() {
  if (threads.is_leaving()) return;
  const auto changes = libraries.look(*program);
  for (const auto& library : changes.unloaded) emit({.kind = DebugEventKind::library_unloaded, .library = library});
  for (const auto& library : changes.loaded) emit({.kind = DebugEventKind::library_loaded, .library = library});
  if (!changes.loaded.empty()) hold_at(DebugEventKind::library_loaded);
  if (!changes.unloaded.empty()) hold_at(DebugEventKind::library_unloaded);
}

void TracedProcess::find_ended_main_thread() {
  Tracee* const main = threads.find(pid);
  if (main == nullptr || threads.all().size() < 2 || main->is_still()) return;
  const auto stat = program->proc.thread_stat(pid);
  if (!stat || (stat->state != 'Z' && stat->state != 'X')) return;
  main->state = Tracee::State::ended;
  publish();
  emit({.kind = DebugEventKind::thread_exited, .tid = pid});
  report_if_still();
}

void TracedProcess::report_if_still() {
  if (!threads.is_all_held() || stop_reported || threads.is_leaving() || threads.empty() || !threads.is_still()) return;
  stop_reported = true;
  emit({.kind = DebugEventKind::stopped});
}

void TracedProcess::emit(DebugEvent event) {
  if (threads.is_leaving() || startup != Startup::done || !options.report.contains(event.kind)) return;
  event.process = handle;
  event.pid = pid;
  events_.push(std::move(event));
}

void TracedProcess::publish() { status.update(threads.is_leaving() || threads.has_free(), program); }

bool TracedProcess::is_ours(ThreadId tid) const { return tracer_of(pid, tid) == static_cast<ThreadId>(::getpid()); }

}  // namespace mixstack::process
