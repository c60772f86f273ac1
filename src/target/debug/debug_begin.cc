// How the tracer comes to its tracees.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "target/debug/child_program.h"
#include "target/debug/debug_tracer.h"
#include "target/live/process_info.h"
#include "target/live/ptrace_refusal.h"
#include "target/live/thread_registers.h"

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;

constexpr long kOptions =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr auto kStartupLimit = 10s;
constexpr auto kLeavingLimit = 1s;
constexpr auto kLeavingSlice = 5ms;
constexpr auto kFirstNap = 1ms;
constexpr auto kLastNap = 64ms;
constexpr int kMaxPasses = 1000;  // over the list of threads of a process that makes them faster than we look

[[nodiscard]] long options_of(const DebugOptions& options) {
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

}  // namespace

std::uint32_t process_of(ThreadId tid) {
  const auto proc = ProcDir::open(tid);
  return proc ? proc->pid() : 0;
}

DebugTracer::RecordPointer DebugTracer::find(std::uint32_t pid) const {
  const auto found = records_.find(pid);
  return found == records_.end() || found->second->leaving ? nullptr : found->second;
}

std::vector<DebugTracer::RecordPointer> DebugTracer::records() const {
  std::vector<RecordPointer> out;
  for (const auto& [pid, record] : records_)
    if (!record->leaving) out.push_back(record);
  return out;
}

DebugTracer::RecordPointer DebugTracer::make_record(std::uint32_t pid, std::shared_ptr<Program> program,
                                                    const DebugOptions& options) const {
  auto record = std::make_shared<DebugRecord>();
  record->pid = pid;
  record->program = std::move(program);
  record->options = options;
  record->handle = make_handle_(record);
  record->publish();
  return record;
}

void DebugTracer::publish_count() { events_.set_sources(records().size()); }

void DebugTracer::add_record(const RecordPointer& record) {
  records_[record->pid] = record;
  publish_count();
}

/// The record stays alive until the batch at hand is done.
void DebugTracer::remove_record(DebugRecord& record) {
  record.handle.reset();
  const auto found = records_.find(record.pid);
  if (found == records_.end() || found->second.get() != &record) return;
  removed_.push_back(std::move(found->second));
  records_.erase(found);
  publish_count();
}

Tracee& DebugTracer::add_thread(DebugRecord& record, ThreadId tid) {
  Tracee& t = record.tracees[tid];
  t.tid = tid;
  t.held = record.paused;
  by_tid_[tid] = &record;
  record.publish();
  if (tid != record.pid) {
    emit(record, {.kind = DebugEventKind::thread_created, .tid = tid});
    hold_at(record, DebugEventKind::thread_created);
  }
  return t;
}

/// A thread that stopped at its birth before its maker's report came.
DebugRecord* DebugTracer::adopt(ThreadId tid) {
  const auto found = records_.find(process_of(tid));
  if (found == records_.end()) return nullptr;
  (void)add_thread(*found->second, tid);
  return found->second.get();
}

bool DebugTracer::is_ours(std::uint32_t pid, ThreadId tid) const {
  return tracer_of(pid, tid) == static_cast<ThreadId>(own_);
}

void DebugTracer::lose(DebugRecord& record, ThreadId tid) {
  by_tid_.erase(tid);
  record.tracees.erase(tid);
}

/// False: it has ended, or another thread's seizure has brought it already.
Result<bool> DebugTracer::seize(DebugRecord& record, ThreadId tid) {
  const ProcDir& proc = record.program->proc;
  if (const int error = seize_watch_.seize(static_cast<pid_t>(tid), options_of(record.options)); error != 0) {
    const auto stat = proc.thread_stat(tid);
    if (error == ESRCH || !stat || stat->state == 'Z' || stat->state == 'X') return false;
    const ThreadId tracer = tracer_of(record.pid, tid);
    if (tracer == static_cast<ThreadId>(own_) && !record.tracees.empty()) {
      (void)add_thread(record, tid);
      return true;
    }
    if (tracer != 0) return fail(ErrorCode::already_traced, tracer, error);
    return fail(ErrorCode::permission_denied, tid, error);
  }
  // The number could have been given to another process since it was listed.
  if (!proc.has_task(tid)) {
    unwanted_.insert(tid);
    (void)::ptrace(PTRACE_INTERRUPT, static_cast<pid_t>(tid), nullptr, nullptr);
    return false;
  }
  (void)add_thread(record, tid);
  return true;
}

/// Until a look at the list finds no new thread. From its first thread on, those it makes are seized by the kernel.
Result<void> DebugTracer::seize_all(DebugRecord& record) {
  bool found_new = true;
  for (int pass = 0; found_new && pass < kMaxPasses; pass++) {
    found_new = false;
    auto tids = record.program->proc.tasks();
    if (!tids) return fail(tids.error());
    for (const ThreadId tid : *tids) {
      if (record.tracees.contains(tid)) continue;
      auto seized = seize(record, tid);
      if (!seized) return fail(seized.error());
      found_new = found_new || *seized;
    }
    // A thread that we did not have yet called exec: it took the main thread's id, and nobody told us that the one we
    // had is gone.
    if (record.tracees.contains(record.pid) && !is_ours(record.pid, record.pid)) {
      lose(record, record.pid);
      found_new = true;
    }
    deal_with_reports();
    if (auto there = check(record); !there) return there;
  }
  return {};
}

/// The program may have been replaced between our first look at it and the seizure of its last thread; since then, exec
/// is reported.
Result<void> DebugTracer::catch_up_with_exec(DebugRecord& record) {
  auto auxv = record.program->proc.read_memory_file("auxv");
  if (auxv && *auxv == record.program->auxv) return {};
  auto program = Program::open(record.pid);
  if (!program) return fail(program.error());
  record.program = std::move(*program);
  record.publish();
  return {};
}

Result<DebugTracer::RecordPointer> DebugTracer::attach_once(std::uint32_t pid, const DebugOptions& options) {
  auto program = Program::open(pid);
  if (!program) return fail(program.error());
  pid = (*program)->proc.pid();
  if (pid == static_cast<std::uint32_t>(host_) || pid == static_cast<std::uint32_t>(own_))
    return fail(ErrorCode::invalid_argument, pid);
  (void)wait_until_left(pid);
  if (records_.contains(pid)) return fail(ErrorCode::already_traced, static_cast<std::uint64_t>(own_));
  auto info = read_process_info((*program)->proc);
  if (!info) return fail(info.error());
  if (info->arch != traceable_arch()) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(info->arch));

  auto wishes = options;
  wishes.kill_with_us = false;
  wishes.report = wishes.hold_at = {};  // what is there is no news
  const auto record = make_record(pid, std::move(*program), wishes);
  record->paused = options.hold;
  add_record(record);
  auto seized = seize_all(*record);
  if (seized) seized = catch_up_with_exec(*record);
  record->options.report = options.report;
  record->options.hold_at = options.hold_at;
  if (seized && record->tracees.empty()) seized = fail(ErrorCode::no_such_process, pid);
  if (seized) return record;
  leave(*record);
  interrupt_all(*record);
  (void)wait_until_left(pid);
  return fail(seized.error());
}

/// Whether no thread of a process is traced any more that was left. Waits for it a while.
bool DebugTracer::wait_until_left(std::uint32_t pid) {
  auto next_look = Clock::now();
  auto has_left = [&] {
    if (Clock::now() >= next_look) {
      look_after_leaving();
      next_look = Clock::now() + kLeavingSlice;
    }
    const auto found = records_.find(pid);
    return found == records_.end() || !found->second->leaving;
  };
  return wait_until(has_left, Clock::now() + kLeavingLimit);
}

/// In the middle of an exec, which takes long when many threads have to end first, threads and files vanish and the
/// main thread is a zombie: what looks like an end or a refusal is looked at again while the process is there.
Result<DebugTracer::RecordPointer> DebugTracer::attach(std::uint32_t pid, const DebugOptions& options) {
  Result<RecordPointer> record = fail(ErrorCode::internal);
  for (auto nap = kFirstNap; nap <= kLastNap; nap *= 2) {
    record = attach_once(pid, options);
    if (record || !may_be_exec(record.error().code) || !is_alive(pid)) break;
    (void)wait_until([] { return false; }, Clock::now() + nap);
  }
  if (!record) return record;
  check_libraries(**record);
  if (!options.hold) return record;
  auto held = pause(**record, Clock::now() + 1s);
  if (!held && held.error().code != ErrorCode::thread_not_stopped) return fail(held.error());
  return record;
}

Result<DebugTracer::RecordPointer> DebugTracer::launch(const LaunchRequest& request) {
  auto child = ChildProgram::fork(request);
  if (!child) return fail(child.error());
  const auto pid = static_cast<ThreadId>(child->pid());
  auto program = Program::open(pid);
  const int refused = program ? seize_watch_.seize(child->pid(), options_of(request.options)) : 0;
  if (!program || refused != 0) {
    const Error error = program ? Error{ErrorCode::permission_denied, refused, pid} : program.error();
    (void)::kill(child->pid(), SIGKILL);  // its end is collected with the other reports
    return fail(error);
  }
  const auto record = make_record(pid, std::move(*program), request.options);
  record->startup = DebugRecord::Startup::exec;
  add_record(record);
  (void)add_thread(*record, pid);
  child->let_through();
  auto arrived = [&] { return record->startup == DebugRecord::Startup::done || record->tracees.empty(); };
  if (!wait_until(arrived, Clock::now() + kStartupLimit) ||
      !wait_until_settled(*record, Clock::now() + kStartupLimit)) {
    // A program that makes no system call for so long is held wherever it is.
    hold_all(*record);
    (void)wait_until(arrived, Clock::now() + 1s);
  }
  if (record->tracees.empty()) return fail(child->failure());
  if (record->program->info.arch != traceable_arch()) {
    record->options.report = {};
    (void)::kill(child->pid(), SIGKILL);
    return fail(ErrorCode::unsupported, static_cast<std::uint64_t>(record->program->info.arch));
  }
  return record;
}

}  // namespace mixstack::target
