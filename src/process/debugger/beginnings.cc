#include "process/debugger/beginnings.h"

#include <sys/ptrace.h>
#include <unistd.h>

#include <csignal>

#include "process/debugger/child_program.h"
#include "process/live/process_info.h"
#include "process/live/ptrace_refusal.h"
#include "process/live/thread_registers.h"

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;
using Clock = ReportLoop::Clock;

constexpr long kOptions =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr auto kLeavingLimit = 1s;
constexpr auto kLeavingSlice = 5ms;
constexpr auto kFirstNap = 1ms;
constexpr auto kLastNap = 64ms;
constexpr int kMaxPasses = 1000;  // over the list of threads of a process that makes them faster than we look

[[nodiscard]] long trace_options(const DebugOptions& options) {
  return kOptions | (options.kill_with_us ? PTRACE_O_EXITKILL : 0);
}

[[nodiscard]] bool may_be_exec(ErrorCode code) {
  return code == ErrorCode::no_such_process || code == ErrorCode::permission_denied || code == ErrorCode::not_found ||
         code == ErrorCode::unsupported;
}

/// In an exec there is always a thread that is no zombie.
[[nodiscard]] bool is_alive(std::uint32_t pid) {
  const auto proc = ProcDir::open(pid);
  if (!proc) return false;
  const auto stat = proc->thread_stat(proc->pid());
  return stat && ((stat->state != 'Z' && stat->state != 'X') || proc->task_count() > 1);
}

/// The program may have been replaced between our first look at it and the seizure of its last thread; since then, exec
/// is reported.
[[nodiscard]] Result<void> catch_up_with_exec(TracedProcess& process) {
  auto auxv = process.program->proc.read_memory_file("auxv");
  if (auxv && *auxv == process.program->auxv) return {};
  auto program = Program::open(process.pid);
  if (!program) return fail(program.error());
  process.program = std::move(*program);
  process.publish();
  return {};
}

}  // namespace

/// False: the thread has ended. One that the kernel seized for us already counts as seized.
Result<bool> Beginnings::seize(TracedProcess& process, ThreadId tid) {
  const ProcDir& proc = process.program->proc;
  if (const int error = loop_.seize(tid, trace_options(process.options)); error != 0) {
    const Error refusal = refusal_of(proc, tid, error);
    if (refusal.code == ErrorCode::no_such_thread) return false;
    const bool is_ours =
        refusal.code == ErrorCode::already_traced && refusal.value == static_cast<std::uint64_t>(::getpid());
    if (!is_ours || process.threads.empty()) return fail(refusal);
  } else if (!proc.has_task(tid)) {
    // The number could have been given to another process since it was listed.
    strays_.unwanted.insert(tid);
    ptrace_interrupt(tid);
    return false;
  }
  (void)process.add_thread(tid);
  return true;
}

/// Until a listing has no new thread. From the first one on, the kernel seizes the threads that they make.
Result<void> Beginnings::seize_all(TracedProcess& process) {
  bool found_new = true;
  for (int pass = 0; found_new && pass < kMaxPasses; pass++) {
    found_new = false;
    auto tids = process.program->proc.tasks();
    if (!tids) return fail(tids.error());
    for (const ThreadId tid : *tids) {
      if (process.threads.contains(tid)) continue;
      // A stop would end the work of an io_uring worker with an error that no program expects.
      const auto stat = process.program->proc.thread_stat(tid);
      if (stat && process.program->proc.kernel_task(tid, *stat) != 0) continue;
      auto seized = seize(process, tid);
      if (!seized) return fail(seized.error());
      found_new = found_new || *seized;
    }
    // A thread that we did not have yet called exec: it has the main thread's id now, and the end of the one we had was
    // not reported.
    if (process.threads.contains(process.pid) && !process.is_ours(process.pid)) {
      process.threads.remove(process.pid);
      found_new = true;
    }
    loop_.turn();
    if (auto there = process.status.check(); !there) return there;
  }
  return {};
}

Result<ProcessPointer> Beginnings::attach_once(std::uint32_t pid, const DebugOptions& options) {
  auto program = Program::open(pid);
  if (!program) return fail(program.error());
  pid = (*program)->proc.pid();
  const auto own = static_cast<std::uint32_t>(::getpid());
  const auto host = static_cast<std::uint32_t>(::getppid());
  if (pid == host || pid == own) return fail(ErrorCode::invalid_argument, pid);
  wait_until_left(pid);
  if (table_.find(pid) != nullptr) return fail(ErrorCode::already_traced, own);
  auto info = read_process_info((*program)->proc);
  if (!info) return fail(info.error());
  if (info->arch != traceable_arch()) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(info->arch));

  auto wishes = options;
  wishes.kill_with_us = false;
  wishes.report = wishes.hold_at = {};  // existing threads and libraries are no events
  const auto process = table_.add(pid, std::move(*program), wishes);
  if (options.hold) process->threads.hold_all();
  auto seized = seize_all(*process);
  if (seized) seized = catch_up_with_exec(*process);
  process->options.report = options.report;
  process->options.hold_at = options.hold_at;
  if (seized && process->threads.empty()) seized = fail(ErrorCode::no_such_process, pid);
  if (seized) return process;
  table_.leave(*process);
  process->threads.interrupt_all();
  wait_until_left(pid);
  return fail(seized.error());
}

/// Waits a while for threads of a detached process that are still traced.
void Beginnings::wait_until_left(std::uint32_t pid) {
  auto next_look = Clock::now();
  auto has_left = [&] {
    if (Clock::now() >= next_look) {
      table_.look_after_leaving();
      next_look = Clock::now() + kLeavingSlice;
    }
    const auto found = table_.find(pid);
    return found == nullptr || !found->threads.is_leaving();
  };
  (void)loop_.wait_until(has_left, Clock::now() + kLeavingLimit);
}

/// During an exec, which takes long if many threads must end first, threads and files vanish and the main thread is a
/// zombie: an apparent end or refusal is retried while the process is there.
Result<ProcessPointer> Beginnings::attach(std::uint32_t pid, const DebugOptions& options) {
  Result<ProcessPointer> process = fail(ErrorCode::internal);
  for (auto nap = kFirstNap; nap <= kLastNap; nap *= 2) {
    process = attach_once(pid, options);
    if (process || !may_be_exec(process.error().code) || !is_alive(pid)) break;
    (void)loop_.wait_until([] { return false; }, Clock::now() + nap);
  }
  if (!process) return process;
  (*process)->check_libraries();
  if (!options.hold) return process;
  auto held = holds_.pause(**process, Clock::now() + 1s);
  if (!held && held.error().code != ErrorCode::thread_not_stopped) return fail(held.error());
  return process;
}

/// Waits until the program is where it is to be held, or has ended.
void Beginnings::wait_until_held(TracedProcess& process, std::chrono::milliseconds limit) {
  auto arrived = [&] { return process.startup == TracedProcess::Startup::done || process.threads.empty(); };
  if (loop_.wait_until(arrived, Clock::now() + limit) && holds_.wait_until_still(process, Clock::now() + limit)) return;
  // A program that makes no system call for so long is held wherever it is.
  process.hold_all();
  (void)loop_.wait_until(arrived, Clock::now() + 1s);
}

Result<ProcessPointer> Beginnings::launch(const LaunchRequest& request) {
  auto child = ChildProgram::fork(request);
  if (!child) return fail(child.error());
  const auto pid = static_cast<ThreadId>(child->pid());
  auto program = Program::open(pid);
  const int refused = program ? loop_.seize(pid, trace_options(request.options)) : 0;
  if (!program || refused != 0) {
    const Error error = program ? Error{ErrorCode::permission_denied, refused, pid} : program.error();
    (void)::kill(child->pid(), SIGKILL);  // its end is collected with the other reports
    return fail(error);
  }
  const auto process = table_.add(pid, std::move(*program), request.options);
  process->startup = TracedProcess::Startup::exec;
  (void)process->add_thread(pid);
  child->let_through();
  wait_until_held(*process, request.startup_limit);
  if (process->threads.empty()) return fail(child->failure());
  const Arch arch = process->program->info.arch;
  if (arch == traceable_arch()) return process;
  process->options.report = {};
  (void)::kill(child->pid(), SIGKILL);
  return fail(ErrorCode::unsupported, static_cast<std::uint64_t>(arch));
}

}  // namespace mixstack::process
