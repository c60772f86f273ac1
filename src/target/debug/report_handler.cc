#include "target/debug/report_handler.h"

#include <utility>

namespace mixstack::target {
namespace {

/// The process a thread belongs to; 0 when it has gone.
[[nodiscard]] std::uint32_t pid_of(ThreadId tid) {
  const auto proc = ProcDir::open(tid);
  return proc ? proc->pid() : 0;
}

[[nodiscard]] ChildKind kind_of(TraceeEvent event) {
  if (event == TraceeEvent::fork) return ChildKind::fork;
  return event == TraceeEvent::vfork ? ChildKind::vfork : ChildKind::clone;
}

}  // namespace

void ReportHandler::handle(const TraceeReport& report) {
  const ThreadId tid = report.tid;
  if (!report.is_stop()) return on_end(report);
  TracedProcess* process = table_.process_of(tid);
  if (process == nullptr && strays_.unwanted.erase(tid) > 0) {
    (void)ptrace_detach(tid);
    return;
  }
  if (process == nullptr) process = adopt(tid);
  if (process == nullptr) {
    strays_.early.emplace(tid, Strays::Clock::now());
    return;
  }
  on_stop(*process, *process->threads.find(tid), report);
}

/// A thread that stopped at its birth before its maker's report came.
TracedProcess* ReportHandler::adopt(ThreadId tid) {
  const auto process = table_.find(pid_of(tid));
  if (process != nullptr) (void)process->add_thread(tid);
  return process.get();
}

void ReportHandler::on_end(const TraceeReport& end) {
  strays_.unwanted.erase(end.tid);
  strays_.early.erase(end.tid);
  TracedProcess* const known = table_.process_of(end.tid);
  if (known == nullptr) return;  // a launched process that was detached, or a child that was let go
  TracedProcess& process = *known;
  if (end.tid == process.pid) return end_process(process, end);
  process.threads.remove(end.tid);
  process.publish();
  process.emit({.kind = DebugEventKind::thread_exited, .tid = end.tid});
  if (process.threads.is_leaving()) return table_.remove_if_left(process);
  // A main thread that had ended before we came is not ours: nobody tells us of its end, which is the process's.
  if (process.threads.empty()) return end_process(process, end);
  process.report_if_still();
}

void ReportHandler::end_process(TracedProcess& process, const TraceeReport& end) {
  process.take_end(end);
  table_.remove(process);
}

void ReportHandler::on_stop(TracedProcess& process, Tracee& t, const TraceeReport& stop) {
  t.take_stop(stop, process.options.hold_at.contains(DebugEventKind::signalled));
  switch (stop.event) {
    case TraceeEvent::signal:
      process.emit({.kind = DebugEventKind::signalled, .tid = t.tid, .value = stop.value});
      process.hold_at(DebugEventKind::signalled);
      break;
    case TraceeEvent::clone:
    case TraceeEvent::fork:
    case TraceeEvent::vfork:
      on_new_task(process, t.tid, stop.event);
      break;
    case TraceeEvent::exec:
      process.take_exec(t);
      break;
    default:
      break;
  }
  if (process.startup != TracedProcess::Startup::done && on_startup(process, t, stop.event)) return;
  process.check_libraries();
  process.threads.settle(t);
  process.report_if_still();
  table_.remove_if_left(process);
}

/// A launched program on its way to where it is held: from one system call to the next, for the linker makes some after
/// it has filled in r_debug and before any other code runs. True while it is on its way.
bool ReportHandler::on_startup(TracedProcess& process, Tracee& t, TraceeEvent event) {
  if (process.startup == TracedProcess::Startup::exec) {
    if (event != TraceeEvent::exec) {
      process.threads.go_on(t);
      return true;
    }
    process.startup = TracedProcess::Startup::linker;
  }
  Program& program = *process.program;
  auto links = program.links.read(program.memory, program.info.executable);
  const bool is_there = links && links->consistent;
  if (program.interpreter == 0 || is_there || process.threads.wish_for(t) != Wish::run) {
    process.startup = TracedProcess::Startup::done;
    process.hold_all();
    process.stop_reported = true;  // the answer of `launch` says it
    if (is_there) process.libraries.begin(std::move(links->libraries));
    return false;
  }
  if (t.job_stop == 0 && ptrace_continue_to_system_call(t.tid, t.signal))
    t.goes_on(Tracee::State::running);
  else
    process.threads.go_on(t);
  return true;
}

void ReportHandler::on_new_task(TracedProcess& process, ThreadId parent, TraceeEvent event) {
  const ThreadId tid = ptrace_new_task(parent);
  if (tid == 0 || table_.process_of(tid) != nullptr) return;  // its own first stop came before
  const std::uint32_t pid = pid_of(tid);
  // A clone without CLONE_THREAD is a process, whatever the kernel calls the event.
  if (pid != process.pid && (pid != 0 || event != TraceeEvent::clone))
    return on_new_process(process, parent, tid, kind_of(event));
  if (pid == 0) return;
  Tracee& t = process.add_thread(tid);
  if (strays_.early.erase(tid) == 0) return;
  t.state = Tracee::State::stopped;
  process.threads.settle(t);
}

void ReportHandler::on_new_process(TracedProcess& process, ThreadId parent, ThreadId pid, ChildKind kind) {
  DebugEvent event{.kind = DebugEventKind::forked, .tid = parent, .child_kind = kind, .child_pid = pid};
  const bool is_early = strays_.early.erase(pid) > 0;
  const bool follows = process.options.follow_children && !process.threads.is_leaving();
  auto program = follows ? Program::open(pid) : fail(ErrorCode::not_found);
  if (!program) {
    if (is_early)
      (void)ptrace_detach(pid);
    else
      strays_.unwanted.insert(pid);
    process.emit(std::move(event));
    return process.hold_at(DebugEventKind::forked);
  }
  auto options = process.options;
  options.hold = false;
  const auto child = table_.add(pid, std::move(*program), options);
  if (options.hold_at.contains(DebugEventKind::forked)) child->threads.hold_all();
  Tracee& t = child->threads.add(pid);
  if (is_early) t.state = Tracee::State::stopped;
  child->publish();
  event.child = child->handle;
  process.emit(std::move(event));
  process.hold_at(DebugEventKind::forked);
  child->threads.settle(t);
  child->report_if_still();
}

}  // namespace mixstack::target
