#include "process/debugger/report_handler.h"

#include <csignal>
#include <utility>

namespace mixstack::process {
namespace {

/// Steps from the last early call to the end of the linker's work: 1,022 with glibc 2.36 (x86-64).
constexpr unsigned kStartupSteps = 5'000;

/// The process a thread belongs to; 0 when it has gone.
[[nodiscard]] std::uint32_t pid_of(ThreadId tid) {
  const auto proc = ProcDir::open(tid);
  return proc ? proc->pid() : 0;
}

[[nodiscard]] ChildKind kind_of(TraceeEvent event) {
  if (event == TraceeEvent::fork) return ChildKind::fork;
  return event == TraceeEvent::vfork ? ChildKind::vfork : ChildKind::clone;
}

/// Whether library code runs before the linker is done, and the linker will make no further system call: its only one
/// would unmap ld.so.cache, which is not mapped. The library that begins nearest below the pc must not be the linker.
[[nodiscard]] bool is_in_last_early_code(TracedProcess& process, ThreadId tid, const LinkMapList::State& links) {
  const auto registers = process.registers(tid);
  if (!registers) return false;
  const Address pc = registers->registers.pc();
  Address nearest = 0;
  for (const auto& library : links.libraries)
    if (library.load_bias <= pc && library.load_bias > nearest) nearest = library.load_bias;
  if (nearest == 0 || nearest == process.program->interpreter) return false;
  const auto maps = process.program->proc.read_memory_file("maps");
  return maps && maps->find("/ld.so.cache") == std::string::npos;
}

}  // namespace

void ReportHandler::handle(const TraceeReport& report) {
  const ThreadId tid = report.tid;
  if (!report.is_stop()) return on_end(report);
  TracedProcess* process = table_.process_of(tid);
  if (process == nullptr && strays_.unwanted.erase(tid) > 0) {
    (void)ptrace_detach(tid, report.event == TraceeEvent::signal ? report.value : 0);
    return;
  }
  if (process == nullptr) process = adopt(tid);
  if (process == nullptr) {
    strays_.early.emplace(tid, Strays::Clock::now());
    return;
  }
  on_stop(*process, *process->threads.find(tid), report);
}

/// For a thread that stopped at its birth before its maker's report came.
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
  // A main thread that had ended before we attached is not ours: its end, which is the process's, is not reported to
  // us.
  if (process.threads.empty()) return end_process(process, end);
  process.report_if_still();
}

void ReportHandler::end_process(TracedProcess& process, const TraceeReport& end) {
  process.take_end(end);
  table_.remove(process);
}

void ReportHandler::on_stop(TracedProcess& process, Tracee& t, const TraceeReport& report) {
  TraceeReport stop = report;
  // The SIGTRAP at the end of our own step is no signal.
  if (process.is_stepping && stop.event == TraceeEvent::signal && stop.value == SIGTRAP)
    stop.event = TraceeEvent::other;
  process.is_stepping = false;
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

/// Brings a launched program to where it is held, from one system call to the next: the linker makes some after it has
/// filled in r_debug and before any other code runs. True while it is on its way.
///
/// If it needs no ld.so.cache (LD_LIBRARY_PATH, RUNPATH, containers without one), which glibc unmaps last, the last
/// such call is one of the C library, which the linker initialises early, and the next is of a constructor or of the
/// program. From that call on it goes instruction by instruction until the linker has done its work.
bool ReportHandler::on_startup(TracedProcess& process, Tracee& t, TraceeEvent event) {
  if (process.startup == TracedProcess::Startup::exec) {
    if (event != TraceeEvent::exec) {
      process.threads.go_on(t);
      return true;
    }
    process.startup = TracedProcess::Startup::linker;
  }
  Program& program = *process.program;
  const bool may_run = process.threads.wish_for(t) == Wish::run;
  if (event == TraceeEvent::other && process.startup_steps > 0 && may_run && program.links.is_unchanged(program.memory))
    return goes_on_in_startup(process, t);
  auto links = program.links.read(program.memory, program.info.executable);
  const bool is_there = links && links->consistent;
  if (program.interpreter == 0 || is_there || !may_run) {
    if (ends_stepping(process, t)) return true;
    process.startup = TracedProcess::Startup::done;
    process.hold_all();
    process.stop_reported = true;  // the answer of `launch` says it
    if (is_there) process.libraries.begin(std::move(links->libraries));
    return false;
  }
  if (event == TraceeEvent::system_call && links && is_in_last_early_code(process, t.tid, *links))
    process.startup_steps = kStartupSteps;
  return goes_on_in_startup(process, t);
}

/// If the tracer dies, the kernel goes on stepping a thread that was stepped, and SIGTRAP ends it: detaching and
/// continuing end the stepping, the tracer's death does not. So it is continued once, into a stop that is already
/// requested. False if it was not stepped.
bool ReportHandler::ends_stepping(TracedProcess& process, Tracee& t) {
  process.startup_steps = 0;
  if (!process.would_step || t.job_stop != 0) return false;
  process.would_step = false;
  ptrace_interrupt(t.tid);
  if (!ptrace_continue(t.tid, t.signal)) return false;
  t.goes_on(Tracee::State::running);
  return true;
}

/// Continues by one instruction, or to the next system call. Answers true.
bool ReportHandler::goes_on_in_startup(TracedProcess& process, Tracee& t) {
  const bool is_step = process.startup_steps > 0;
  if (is_step) process.startup_steps--;
  process.is_stepping = process.would_step = is_step;
  if (t.job_stop == 0 && (is_step ? ptrace_step(t.tid, t.signal) : ptrace_continue_to_system_call(t.tid, t.signal)))
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

}  // namespace mixstack::process
