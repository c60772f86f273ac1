#include "target/debug/debug_tracer.h"

#include <poll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;

constexpr auto kSlice = 2ms;          // between looks at what the kernel does not report
constexpr auto kForgottenAfter = 1s;  // a child whose parent died before it could tell of it
constexpr auto kForgottenSlice = 100ms;
constexpr auto kReleaseLimit = 300ms;
constexpr auto kDeathLimit = 1s;
constexpr std::size_t kBatch = 4096;

}  // namespace

Result<void> DebugTracer::set_up(pid_t host) {
  host_ = host;
  own_ = ::getpid();
  // Signals of a process reach its own signalfd only: the host never sees these.
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  child_signals_ = base::ScopedFd(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!child_signals_) return fail(ErrorCode::internal, 0, errno);
  return seize_watch_.set_up();
}

void DebugTracer::wait_for_reports(std::chrono::milliseconds at_most, int wake) {
  std::array<pollfd, 2> sources{{{child_signals_.get(), POLLIN, 0}, {wake, POLLIN, 0}}};
  (void)::poll(sources.data(), wake < 0 ? 1 : 2, static_cast<int>(at_most.count()));
  signalfd_siginfo signal;
  while (::read(child_signals_.get(), &signal, sizeof signal) > 0) {
  }
}

void DebugTracer::serve(int wake) {
  const bool is_behind = batch_.size() >= kBatch;
  const auto at_most = is_behind ? 0ms : has_loose_ends() ? std::chrono::milliseconds(kForgottenSlice) : -1ms;
  wait_for_reports(at_most, wake);
  deal_with_reports();
  release_forgotten();
  look_after_leaving();
  removed_.clear();
}

void DebugTracer::deal_with_reports() {
  batch_.clear();
  seize_watch_.take(batch_);
  Report report;
  while (batch_.size() < kBatch && (report.tid = ::waitpid(-1, &report.status, __WALL | WNOHANG)) > 0)
    batch_.push_back(report);
  for (const auto& r : batch_) on_report(r);
}

bool DebugTracer::wait_until(const std::function<bool()>& done, Clock::time_point deadline) {
  for (;;) {
    deal_with_reports();
    if (done()) return true;
    if (Clock::now() >= deadline) return false;
    wait_for_reports(kSlice, -1);
  }
}

bool DebugTracer::wait_until_settled(DebugRecord& record, Clock::time_point deadline) {
  auto next_look = Clock::now() + kSlice;
  return wait_until(
      [&] {
        if (record.tracees.empty() || record.is_settled()) return true;
        if (Clock::now() < next_look) return false;
        next_look = Clock::now() + kSlice;
        find_ended_main_thread(record);
        return record.is_settled();
      },
      deadline);
}

void DebugTracer::on_report(const Report& report) {
  if (!WIFSTOPPED(report.status)) return on_end(report);
  const auto tid = static_cast<ThreadId>(report.tid);
  const auto known = by_tid_.find(tid);
  DebugRecord* record = known != by_tid_.end() ? known->second : nullptr;
  if (record == nullptr && unwanted_.erase(tid) > 0) {
    (void)::ptrace(PTRACE_DETACH, report.tid, nullptr, nullptr);
    return;
  }
  if (record == nullptr) record = adopt(tid);
  if (record == nullptr) {
    early_.emplace(tid, Clock::now());
    return;
  }
  on_stop(*record, record->tracees.at(tid), report.status);
}

void DebugTracer::on_end(const Report& report) {
  const auto tid = static_cast<ThreadId>(report.tid);
  unwanted_.erase(tid);
  early_.erase(tid);
  const auto known = by_tid_.find(tid);
  if (known == by_tid_.end()) return;  // a launched process that was detached, or a child that was let go
  DebugRecord& record = *known->second;
  if (tid == record.pid) return end_process(record, report.status);
  by_tid_.erase(known);
  record.tracees.erase(tid);
  record.publish();
  emit(record, {.kind = DebugEventKind::thread_exited, .tid = tid});
  if (record.leaving) return remove_if_left(record);
  // A main thread that had ended before we came is not ours: nobody tells us of its end, which is the process's.
  if (record.tracees.empty()) return end_process(record, report.status);
  report_if_still(record);
}

void DebugTracer::end_process(DebugRecord& record, int status) {
  for (const auto& [tid, t] : record.tracees) {
    by_tid_.erase(tid);
    if (tid != record.pid) emit(record, {.kind = DebugEventKind::thread_exited, .tid = tid});
  }
  record.tracees.clear();
  DebugEvent end{.kind = DebugEventKind::exited, .pid = record.pid, .tid = record.pid, .value = WEXITSTATUS(status)};
  if (WIFSIGNALED(status)) {
    end.kind = DebugEventKind::killed;
    end.value = WTERMSIG(status);
    end.core_dumped = WCOREDUMP(status);
  }
  if (!record.leaving) {
    const std::lock_guard lock(record.shared.mutex);
    record.shared.phase = DebugRecord::Phase::ended;
    record.shared.running = false;
    record.shared.end = end;
  }
  emit(record, end);
  remove_record(record);
}

/// Children whose parents were killed between making them and telling of them.
void DebugTracer::release_forgotten() {
  const auto now = Clock::now();
  for (auto it = early_.begin(); it != early_.end();) {
    if (now - it->second < kForgottenAfter) {
      ++it;
      continue;
    }
    (void)::ptrace(PTRACE_DETACH, static_cast<pid_t>(it->first), nullptr, nullptr);
    it = early_.erase(it);
  }
}

bool DebugTracer::has_loose_ends() const {
  const auto is_leaving = [](const auto& entry) { return entry.second->leaving; };
  return !early_.empty() || std::any_of(records_.begin(), records_.end(), is_leaving);
}

/// Threads that could not be let go yet may vanish without a report: when one that was let go calls exec, it takes the
/// main thread's place.
void DebugTracer::look_after_leaving() {
  const auto all = records_;
  for (const auto& [pid, record] : all) {
    if (!record->leaving) continue;
    std::vector<ThreadId> lost;
    for (const auto& [tid, t] : record->tracees)
      if (!is_ours(pid, tid)) lost.push_back(tid);
    for (const ThreadId tid : lost) lose(*record, tid);
    remove_if_left(*record);
  }
}

void DebugTracer::release_all() {
  const auto all = records_;
  for (const auto& [pid, record] : all) {
    if (record->options.kill_with_us) (void)::kill(static_cast<pid_t>(pid), SIGKILL);
    record->guards.push_back({next_guard_++, true, {}});
    interrupt_wanted(*record);
  }
  const auto begin = Clock::now();
  for (const auto& [pid, record] : all) {
    const bool dies = record->options.kill_with_us;
    auto& debugged = *record;  // Clang 14 captures no structured bindings
    auto settled = [&] { return debugged.tracees.empty() || (!dies && debugged.is_settled()); };
    (void)wait_until(settled, begin + (dies ? kDeathLimit : kReleaseLimit));
    if (!record->tracees.empty()) leave(*record);
  }
  for (const auto& [tid, since] : early_) (void)::ptrace(PTRACE_DETACH, static_cast<pid_t>(tid), nullptr, nullptr);
}

void DebugTracer::forget_all() {
  for (const auto& [pid, record] : records_) {
    {
      const std::lock_guard lock(record->shared.mutex);
      if (record->shared.phase == DebugRecord::Phase::debugged) record->shared.phase = DebugRecord::Phase::detached;
    }
    record->handle.reset();
  }
  records_.clear();
  removed_.clear();
  by_tid_.clear();
}

}  // namespace mixstack::target
