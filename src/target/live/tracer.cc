#include "target/live/tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <new>

#include "target/live/proc_dir.h"
#include "target/tracer_process.h"

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;
constexpr auto kGuardInterval = 2ms;
constexpr int kLeaveTries = 2000;  // times 50 us
constexpr int kHighest = -20;
// A copy takes some milliseconds, and a tracer that is only not given a CPU is not the one to blame.
constexpr auto kLongestRead = 100ms;

sigset_t timer_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMAX);
  return set;
}

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

/// Beyond the tracer a failed allocation would end everything; what is held is let go either way. False: it failed.
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

bool has_ended(pid_t tid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return false;
  if (info.si_pid != tid) return false;
  return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
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

void Tracer::add(pid_t tid) {
  const std::lock_guard lock(mutex_);
  tids_.push_back(tid);
}

/// Any thread of the tracer's process may collect (no __WNOTHREAD).
void Tracer::collect_dead() const {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (kind_ == Kind::thread) lock.lock();  // in a process its one thread is here, in the handler
  for (const pid_t tid : tids_) {
    int status = 0;
    if (has_ended(tid)) (void)::waitpid(tid, &status, WNOHANG | __WALL);
  }
}

int Tracer::seize(pid_t tid, long options) {
  const auto seize_now = [&] {
    return ::ptrace(PTRACE_SEIZE, tid, nullptr, reinterpret_cast<void*>(options)) == 0 ? 0 : errno;
  };
  if (kind_ == Kind::thread) return seize_now();
  if (!has_timer_) {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      const int before = errno;
      static_cast<const Tracer*>(info->si_value.sival_ptr)->collect_dead();
      errno = before;
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMAX;
    event.sigev_value.sival_ptr = this;
    timer_t timer{};  // of the tracer's process; ends with it
    const itimerspec spec{{0, 2'000'000}, {0, 2'000'000}};
    has_timer_ = ::sigaction(SIGRTMAX, &action, nullptr) == 0 && ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
                 ::timer_settime(timer, 0, &spec, nullptr) == 0;
  }
  // The signal comes in the call or stays pending: it interrupts nothing else.
  const sigset_t signal = timer_signal();
  (void)pthread_sigmask(SIG_UNBLOCK, &signal, nullptr);
  const int error = seize_now();
  (void)pthread_sigmask(SIG_BLOCK, &signal, nullptr);
  return error;
}

Result<void> run_as_tracer(const std::function<void(Tracer&)>& work, Tracer::Kind kind) {
  return kind == Tracer::Kind::process ? run_in_process(work) : run_in_thread(work);
}

}  // namespace mixstack::target
