// Stops the threads of a process by PTRACE_SEIZE and PTRACE_INTERRUPT, and releases them.
// Input: thread ids and deadlines; the kernel's reports and /proc/PID/task. Output: the phase of each thread; a stopped
// one keeps registers and memory until it is released.
// Algorithm: 1. seize the listed threads, which does not disturb them. 2. interrupt them, running ones last, so that
// they stand shortest. 3. ask for reports without taking them: yield for kEager, then nap; at the longest nap, look for
// stops whose report somebody else took. 4. for a whole process, compare the kernel's count of threads with ours; if
// they differ, list, seize and stop new ones, until a listing has no new id. 5. release running threads first.
// Bounds: every wait has a deadline; naps last from kFirstNap to kLongestNap.
#include "process/live/thread_stopper.h"

#include <sched.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/words/words.h"
#include "process/live/ptrace_refusal.h"

namespace mixstack::process {
namespace {

using Clock = std::chrono::steady_clock;

// waitpid has no deadline, so the tracer asks and naps. Naps are short while most stops are still to come and grow for
// the stragglers.
constexpr long kFirstNap = 5'000;
constexpr long kLongestNap = 100'000;
// Before the first nap, and after every stop: going to sleep and waking up costs as much as most stops take.
constexpr std::chrono::microseconds kEager{60};

void sleep_for(long nanoseconds) {
  const timespec t{0, nanoseconds};
  ::nanosleep(&t, nullptr);
}

}  // namespace

void ThreadStopper::reserve(std::size_t n) {
  threads_.reserve(n);
  newborns_.reserve(n);
  tracer_.reserve(n);
}

bool ThreadStopper::is_main(const StoppedThread& t) const { return t.tid == proc_.pid(); }

bool ThreadStopper::is_known(ThreadId tid) const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const StoppedThread& t) { return t.tid == tid; });
}

void ThreadStopper::seize(ThreadId tid, bool is_running, bool caller_looks) {
  StoppedThread t;
  t.tid = tid;
  t.is_running = is_running;
  // Exec is always reported, for it makes all we know worthless. New threads are reported (and seized at birth) only
  // from the second round on, when nearly all stand still: in the first, a thread that makes another would stop early.
  const long options = PTRACE_O_TRACEEXEC | (interrupting_ ? PTRACE_O_TRACECLONE : 0);
  if (const int error = tracer_.seize(tid, options); error != 0) {
    t.error = refusal_of(proc_, tid, error);
    // The main thread stays as a zombie while others live; any other thread in that state is about to vanish.
    const bool dying = t.error.code == ErrorCode::no_such_thread && tid != proc_.pid();
    t.phase = dying ? StopPhase::gone : StopPhase::refused;
    threads_.push_back(t);
    return;
  }
  if (!is_main(t)) tracer_.add(tid);
  if (!caller_looks) check_owner(t);
  threads_.push_back(t);
  pending_++;
  if (interrupting_) ptrace_interrupt(tid);
}

void ThreadStopper::pass_over(ThreadId tid, std::uint64_t kernel_task) {
  StoppedThread& t = threads_.emplace_back();
  t.tid = tid;
  t.phase = StopPhase::refused;
  t.error = {ErrorCode::unsupported, 0, kernel_task};
}

void ThreadStopper::interrupt_all() {
  interrupting_ = true;
  for (const bool running : {false, true})
    for (const auto& t : threads_)
      if (t.phase == StopPhase::pending && t.is_running == running) ptrace_interrupt(t.tid);
}

void ThreadStopper::interrupt(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, threads_.size()); i++) {
    if (threads_[i].phase != StopPhase::pending) continue;
    threads_[i].is_asked = true;
    threads_[i].moved_until = Clock::now();
    ptrace_interrupt(threads_[i].tid);
  }
}

bool ThreadStopper::wait_until_stopped(std::size_t begin, std::size_t end, Clock::time_point deadline) {
  const auto is_awaited = [](const StoppedThread& t) { return t.phase == StopPhase::pending && t.is_asked; };
  const auto first = threads_.begin() + static_cast<std::ptrdiff_t>(std::min(begin, threads_.size()));
  const auto last = threads_.begin() + static_cast<std::ptrdiff_t>(std::min(end, threads_.size()));
  long nap = 0;
  Clock::time_point eager_until = Clock::now() + kEager;
  for (;;) {
    const auto now = Clock::now();
    for (StoppedThread& t : threads_) {
      if (!is_awaited(t)) continue;
      poll(t) ? static_cast<void>(pending_--) : static_cast<void>(t.moved_until = now);
    }
    if (std::none_of(first, last, is_awaited)) return true;
    if (now >= deadline) return false;
    if (now < eager_until) {
      ::sched_yield();
      continue;
    }
    nap = nap == 0 ? kFirstNap : std::min(nap * 2, kLongestNap);
    sleep_for(nap);
    if (nap == kLongestNap) probe_pending();
  }
}

void ThreadStopper::handle_stop(StoppedThread& t, const TraceeReport& stop) {
  t.phase = StopPhase::stopped;
  t.signal = stop.event == TraceeEvent::signal ? stop.value : 0;
  t.is_in_job_stop = stop.event == TraceeEvent::job_stop;
  if (stop.event == TraceeEvent::exec) execed_ = true;
  if (stop.event != TraceeEvent::clone) return;
  if (const ThreadId newborn = ptrace_new_task(t.tid); newborn != 0) newborns_.push_back(newborn);
}

/// A stop is looked at, never taken: when a tracer dies, the kernel lets its tracees go with the signal whose delivery
/// was intercepted, but only as long as nobody took the report of that stop (wait_task_stopped in kernel/exit.c clears
/// the exit code that ptrace_signal in kernel/signal.c goes on with).
bool ThreadStopper::poll(StoppedThread& t) {
  const auto report = peek_report(t.tid);
  if (!report) return false;
  if (report->is_stop()) {
    handle_stop(t, *report);
    return true;
  }
  // The end of the process is its parent's to collect, and that may be our own host.
  if (report->is_end() && !is_main(t)) collect_end(t.tid);
  t.phase = StopPhase::gone;
  t.error = {ErrorCode::no_such_thread, ESRCH, t.tid};
  return true;
}

bool ThreadStopper::sweep() {
  bool progress = false;
  for (auto& t : threads_) {
    if (t.phase != StopPhase::pending || !poll(t)) continue;
    pending_--;
    progress = true;
  }
  // A thread that was made under PTRACE_O_TRACECLONE is ours already and stops at its first instruction.
  while (!newborns_.empty()) {
    const ThreadId tid = newborns_.back();
    newborns_.pop_back();
    if (is_known(tid)) continue;
    tracer_.add(tid);
    StoppedThread& t = threads_.emplace_back();
    t.tid = tid;
    check_owner(t);
    pending_++;
    progress = true;
  }
  return progress;
}

/// Finds stops whose report somebody else took: a host program that waits for any of its children in another thread
/// is told of our tracees too.
void ThreadStopper::probe_pending() {
  for (auto& t : threads_) {
    if (t.phase != StopPhase::pending) continue;
    const auto stop = present_stop(t.tid);
    if (!stop) continue;
    handle_stop(t, *stop);
    pending_--;
  }
}

bool ThreadStopper::wait_for_pending(Clock::time_point deadline) {
  long nap = kFirstNap;
  Clock::time_point eager_until = Clock::now() + kEager;
  while (pending_ > 0) {
    if (sweep()) {
      nap = kFirstNap;
      eager_until = Clock::now() + kEager;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return false;
    if (now < eager_until) {
      // A thread on another CPU stops within some 10 us; one that waits for ours needs us out of the way.
      ::sched_yield();
      continue;
    }
    sleep_for(nap);
    nap = std::min(nap * 2, kLongestNap);
    if (nap == kLongestNap) probe_pending();
  }
  return true;
}

/// Finds threads that died while stopped (SIGKILL, or an exec of another thread) and the exec itself, which speaks
/// with the main thread's id.
void ThreadStopper::recheck_stopped() {
  for (auto& t : threads_)
    if (t.phase == StopPhase::stopped) (void)poll(t);
}

/// Whether every thread there is, is known. Threads that stand still make no others, so one count taken after the last
/// stop settles it: as many as we hold. Otherwise the list is read, and again, until it has no new id and as many
/// entries as the kernel counts.
bool ThreadStopper::is_complete() {
  const auto alive = [](const StoppedThread& t) {
    return (t.phase == StopPhase::stopped && !t.is_foreign) || words::is_kernel_task(t.error);
  };
  const auto held = static_cast<std::size_t>(std::count_if(threads_.begin(), threads_.end(), alive));
  if (proc_.task_count() == held) return true;
  recheck_stopped();
  auto listed = proc_.tasks();
  if (!listed) return true;  // the process has gone
  std::vector<ThreadId> known;
  known.reserve(threads_.size());
  for (const auto& t : threads_) known.push_back(t.tid);
  std::sort(known.begin(), known.end());
  const std::size_t before = pending_;
  for (const ThreadId tid : *listed) {
    if (std::binary_search(known.begin(), known.end(), tid)) continue;
    const auto stat = proc_.thread_stat(tid);
    const std::uint64_t kernel_task = stat ? proc_.kernel_task(tid, *stat) : 0;
    kernel_task != 0 ? pass_over(tid, kernel_task) : seize(tid, false);
  }
  return pending_ == before && listed->size() == proc_.task_count();
}

bool ThreadStopper::wait_for_any(Clock::time_point deadline) {
  for (long nap = kFirstNap;; nap = std::min(nap * 2, kLongestNap)) {
    const auto now = Clock::now();
    (void)sweep();
    for (StoppedThread& t : threads_)
      if (t.phase == StopPhase::pending) t.moved_until = now;
    const auto stands = [](const StoppedThread& t) { return t.phase == StopPhase::stopped; };
    if (std::any_of(threads_.begin(), threads_.end(), stands)) return true;
    if (Clock::now() >= deadline || pending_ == 0) return false;
    sleep_for(nap);
  }
}

bool ThreadStopper::wait_until_stopped(Clock::time_point deadline, bool whole_process) {
  for (;;) {
    if (!wait_for_pending(deadline)) {
      if (whole_process) (void)is_complete();  // unknown threads are late, too
      return false;
    }
    if (execed_ || !whole_process || is_complete()) return true;
    if (pending_ > 0) continue;
    if (Clock::now() >= deadline) return false;
    sleep_for(kFirstNap);  // a thread is on its way out of the list
  }
}

void ThreadStopper::release(StoppedThread& t) {
  if (ptrace_detach(t.tid, t.signal)) {
    t.phase = StopPhase::released;
    return;
  }
  // It was killed meanwhile: collect it, lest an exec wait for us.
  if (!is_main(t)) collect_end(t.tid);
  t.phase = StopPhase::gone;
}

void ThreadStopper::release_running() {
  for (auto& t : threads_)
    if (t.phase == StopPhase::stopped && t.is_running) release(t);
}

void ThreadStopper::release_all() {
  release_running();
  for (auto& t : threads_)
    if (t.phase == StopPhase::stopped) release(t);
}

void ThreadStopper::release_late() {
  (void)sweep();
  release_all();
}

}  // namespace mixstack::process
