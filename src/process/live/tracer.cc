#include "process/live/tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <new>

#include "process/kernel/ptrace.h"
#include "process/kernel/tracer_process.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;
constexpr auto kGuardInterval = 2ms;
constexpr int kLeaveTries = 2000;  // times 50 us
constexpr int kHighest = -20;
// A copy takes some milliseconds, and a tracer that is only not given a CPU is not the one to blame.
constexpr auto kLongestRead = 100ms;

/// Blocks every signal that does not stem from a fault of our own.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlock() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_{};
};

/// Says when the work is done or the tracer has gone.
class Finish {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_one();
  }
  [[nodiscard]] bool wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return done_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

[[nodiscard]] bool is_asleep(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const base::ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text) : 0;
  const auto stat = parse_thread_stat({text, n > 0 ? static_cast<std::size_t>(n) : 0});
  return stat && (stat->state == 'D' || stat->state == 'S');
}

/// An exception that left the tracer would end everything; held threads are released either way. False: out of memory.
[[nodiscard]] bool run_work(const std::function<void(Tracer&)>& work, Tracer& tracer) {
  try {
    work(tracer);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Result<void> run_in_process(const std::function<void(Tracer&)>& work) {
  Tracer tracer(Tracer::Kind::process);
  Finish finish;
  bool has_returned = false, is_out_of_memory = false;
  auto process = TracerProcess::start(
      [&] {
        (void)::setpgid(0, 0);
        (void)::setpriority(PRIO_PROCESS, 0, kHighest);
        (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // naps are meant as short as they say
        is_out_of_memory = !run_work(work, tracer);
        has_returned = true;
      },
      [&] { finish.set(); });
  if (!process) return fail(process.error());
  bool was_killed = false;
  for (int looks = 0; !finish.wait(kGuardInterval);) {
    looks = tracer.reading_for() > kLongestRead && is_asleep((*process)->pid()) ? looks + 1 : 0;
    if (looks < 2 || was_killed) continue;
    was_killed = true;
    (void)::kill((*process)->pid(), SIGKILL);
  }
  if (is_out_of_memory) return fail(ErrorCode::limit_exceeded, 0, ENOMEM);
  if (has_returned) return {};
  // It shares our memory: the program's out-of-memory handler may have ended it at once.
  if ((*process)->exit_status() != 0) return fail(ErrorCode::limit_exceeded, 0, ENOMEM);
  return fail(ErrorCode::io_error, 0, was_killed ? ETIMEDOUT : ECHILD);
}

struct ThreadJob {
  const std::function<void(Tracer&)>& work;
  Tracer tracer;
  Finish finish;
  pid_t tid = 0;
  bool is_out_of_memory = false;
};

void* run_job(void* argument) {
  auto& job = *static_cast<ThreadJob*>(argument);
  job.tid = static_cast<pid_t>(::syscall(SYS_gettid));
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  job.is_out_of_memory = !run_work(job.work, job.tracer);
  job.finish.set();
  return nullptr;
}

/// pthread_join returns a little before the kernel has released the tracees.
void wait_until_left(pid_t tid) {
  const timespec nap{0, 50'000};
  for (int i = 0; i < kLeaveTries && ::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0; i++) ::nanosleep(&nap, nullptr);
}

Result<void> run_in_thread(const std::function<void(Tracer&)>& work) {
  // No handler and, in a process of one thread, no terminal stop (SIGTSTP) may come between stop and release.
  const SignalBlock block;
  ThreadJob job{work, Tracer(Tracer::Kind::thread), {}, 0, false};
  pthread_t thread;
  if (const int error = pthread_create(&thread, nullptr, run_job, &job); error != 0)
    return fail(ErrorCode::internal, 0, error);
  while (!job.finish.wait(kGuardInterval)) job.tracer.collect_dead();
  (void)pthread_join(thread, nullptr);
  wait_until_left(job.tid);
  if (job.is_out_of_memory) return fail(ErrorCode::limit_exceeded, 0, ENOMEM);
  return {};
}

}  // namespace

void Tracer::come_first() const {
  if (kind_ != Kind::process) return;
  sched_param priority{};
  priority.sched_priority = 1;
  (void)::sched_setscheduler(0, SCHED_RR, &priority);
}

std::int64_t Tracer::now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::chrono::nanoseconds Tracer::reading_for() const {
  const std::int64_t since = read_since_.load(std::memory_order_acquire);
  return std::chrono::nanoseconds(since == 0 ? 0 : now() - since);
}

void Tracer::reserve(std::size_t threads) {
  const std::lock_guard lock(mutex_);
  tids_.reserve(threads);
}

void Tracer::add(ThreadId tid) {
  const std::lock_guard lock(mutex_);
  tids_.push_back(tid);
}

/// Any thread of the tracer's process may collect (no __WNOTHREAD).
void Tracer::collect_dead() const {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (kind_ == Kind::thread) lock.lock();  // in a process its one thread is here, in the handler
  for (const ThreadId tid : tids_)
    if (const auto report = peek_report(tid); report && report->is_end()) collect_end(tid);
}

int Tracer::seize(ThreadId tid, long options) {
  if (kind_ == Kind::thread) return ptrace_seize(tid, options);
  if (!has_timer_) has_timer_ = watch_.set_up().has_value();
  return watch_.seize(tid, options);
}

Result<void> run_as_tracer(const std::function<void(Tracer&)>& work, Tracer::Kind kind) {
  return kind == Tracer::Kind::process ? run_in_process(work) : run_in_thread(work);
}

}  // namespace mixstack::process
