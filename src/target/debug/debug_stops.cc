// What the tracer makes of a stop.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>
#include <unordered_map>
#include <utility>

#include "target/debug/debug_tracer.h"

namespace mixstack::target {
namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

/// Those of `list` that `others` does not hold.
[[nodiscard]] std::vector<LoadedLibrary> without(const std::vector<LoadedLibrary>& list,
                                                 const std::vector<LoadedLibrary>& others) {
  std::unordered_map<Address, const LoadedLibrary*> by_place;
  for (const auto& library : others) by_place[library.link_map] = &library;
  std::vector<LoadedLibrary> out;
  for (const auto& library : list) {
    const auto same_place = by_place.find(library.link_map);
    if (same_place == by_place.end() || *same_place->second != library) out.push_back(library);
  }
  return out;
}

[[nodiscard]] ChildKind kind_of(int event) {
  if (event == PTRACE_EVENT_FORK) return ChildKind::fork;
  return event == PTRACE_EVENT_VFORK ? ChildKind::vfork : ChildKind::clone;
}

}  // namespace

void DebugTracer::emit(DebugRecord& record, DebugEvent event) {
  if (record.leaving || record.startup != DebugRecord::Startup::done || !record.options.report.contains(event.kind))
    return;
  event.process = record.handle;
  event.pid = record.pid;
  events_.push(std::move(event));
}

void DebugTracer::hold_at(DebugRecord& record, DebugEventKind kind) {
  if (record.options.hold_at.contains(kind) && !record.leaving) hold_all(record);
}

void DebugTracer::on_stop(DebugRecord& record, Tracee& t, int status) {
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  t.state = Tracee::State::stopped;
  t.signal = 0;
  t.keeps_signal = false;
  t.job_stop = 0;
  if (event == 0 && signal != kSystemCallStop)
    on_signal(record, t, signal);
  else if (event == PTRACE_EVENT_STOP)
    t.job_stop = signal == SIGTRAP ? 0 : signal;
  else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
    on_new_task(record, t, event);
  else if (event == PTRACE_EVENT_EXEC)
    on_exec(record, t);
  if (record.startup != DebugRecord::Startup::done && on_startup(record, t, event)) return;
  check_libraries(record);
  settle(record, t);
  report_if_still(record);
}

/// A launched program on its way to where it is held: from one system call to the next, for the linker makes some after
/// it has filled in r_debug and before any other code runs. True while it is on its way.
bool DebugTracer::on_startup(DebugRecord& record, Tracee& t, int event) {
  if (record.startup == DebugRecord::Startup::exec) {
    if (event != PTRACE_EVENT_EXEC) {
      go_on(t);
      return true;
    }
    record.startup = DebugRecord::Startup::linker;
  }
  const auto links = record.program->links.read(record.program->memory, record.program->info.executable);
  const bool is_there = links && links->consistent;
  if (record.program->interpreter == 0 || is_there || record.wants_still(t)) {
    record.startup = DebugRecord::Startup::done;
    hold_all(record);
    record.stop_reported = true;  // the answer of `launch` says it
    if (is_there) record.libraries = links->libraries;
    record.libraries_known = true;
    return false;
  }
  if (t.job_stop == 0 && ::ptrace(PTRACE_SYSCALL, static_cast<pid_t>(t.tid), nullptr, t.signal) == 0)
    t.state = Tracee::State::running;
  else
    go_on(t);
  return true;
}

void DebugTracer::on_signal(DebugRecord& record, Tracee& t, int signal) {
  t.signal = signal;
  emit(record, {.kind = DebugEventKind::signalled, .tid = t.tid, .value = signal});
  t.keeps_signal = record.options.hold_at.contains(DebugEventKind::signalled);
  hold_at(record, DebugEventKind::signalled);
}

void DebugTracer::on_new_task(DebugRecord& record, const Tracee& parent, int event) {
  unsigned long made = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, static_cast<pid_t>(parent.tid), nullptr, &made) != 0 || made == 0) return;
  const auto tid = static_cast<ThreadId>(made);
  if (by_tid_.contains(tid)) return;  // its own first stop came before
  const std::uint32_t pid = process_of(tid);
  // A clone without CLONE_THREAD is a process, whatever the kernel calls the event.
  if (pid != record.pid && (pid != 0 || event != PTRACE_EVENT_CLONE))
    return on_new_process(record, parent, tid, kind_of(event));
  if (pid == 0) return;
  Tracee& t = add_thread(record, tid);
  if (early_.erase(tid) == 0) return;
  t.state = Tracee::State::stopped;
  settle(record, t);
}

void DebugTracer::on_new_process(DebugRecord& record, const Tracee& parent, ThreadId pid, ChildKind kind) {
  DebugEvent event{.kind = DebugEventKind::forked, .tid = parent.tid, .child_kind = kind, .child_pid = pid};
  const bool is_early = early_.erase(pid) > 0;
  auto program = record.options.follow_children && !record.leaving ? Program::open(pid) : fail(ErrorCode::not_found);
  if (program) {
    const auto child = make_record(pid, std::move(*program), record.options);
    child->options.hold = false;
    child->paused = record.options.hold_at.contains(DebugEventKind::forked);
    add_record(child);
    Tracee& t = child->tracees[pid];
    t.tid = pid;
    t.held = child->paused;
    t.state = is_early ? Tracee::State::stopped : Tracee::State::running;
    by_tid_[pid] = child.get();
    child->publish();
    event.child = child->handle;
  } else if (is_early) {
    (void)::ptrace(PTRACE_DETACH, static_cast<pid_t>(pid), nullptr, nullptr);
  } else {
    unwanted_.insert(pid);
  }
  const auto child = event.child == nullptr ? nullptr : records_.at(pid);
  emit(record, std::move(event));
  hold_at(record, DebugEventKind::forked);
  if (child == nullptr) return;
  settle(*child, child->tracees.at(pid));
  report_if_still(*child);
}

/// Whoever called exec has the main thread's id now; all others have gone, the one it was before without a report.
void DebugTracer::on_exec(DebugRecord& record, Tracee& t) {
  for (auto it = record.tracees.begin(); it != record.tracees.end();) {
    if (it->first == t.tid) {
      ++it;
      continue;
    }
    by_tid_.erase(it->first);
    emit(record, {.kind = DebugEventKind::thread_exited, .tid = it->first});
    it = record.tracees.erase(it);
  }
  t.held = t.held || record.paused;
  record.generation++;
  record.libraries.clear();
  record.libraries_known = true;  // empty is what it is now
  if (auto program = Program::open(record.pid)) record.program = std::move(*program);
  record.publish();
  emit(record, {.kind = DebugEventKind::execed, .tid = t.tid});
  if (record.startup == DebugRecord::Startup::done) hold_at(record, DebugEventKind::execed);
}

/// Nothing tells when a library comes or goes without a trap in the target. So the list is compared whenever a thread
/// has stopped anyway.
void DebugTracer::check_libraries(DebugRecord& record) {
  Program& program = *record.program;
  if (record.leaving || program.links.is_unchanged(program.memory)) return;
  auto state = program.links.read(program.memory, program.info.executable);
  if (!state || !state->consistent) return;
  const auto before = std::exchange(record.libraries, std::move(state->libraries));
  if (!std::exchange(record.libraries_known, true)) return;
  const auto loaded = without(record.libraries, before), unloaded = without(before, record.libraries);
  for (const auto& library : unloaded) emit(record, {.kind = DebugEventKind::library_unloaded, .library = library});
  for (const auto& library : loaded) emit(record, {.kind = DebugEventKind::library_loaded, .library = library});
  if (!loaded.empty()) hold_at(record, DebugEventKind::library_loaded);
  if (!unloaded.empty()) hold_at(record, DebugEventKind::library_unloaded);
}

}  // namespace mixstack::target
