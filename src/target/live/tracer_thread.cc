#include "target/live/tracer_thread.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <new>

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;
constexpr auto kGuardInterval = 2ms;
constexpr int kLeaveTries = 2000;  // times 50 us

struct Job {
  const std::function<void(TraceeList&)>& work;
  TraceeList tracees;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false, out_of_memory = false;
  pid_t tid = 0;
};

void* run(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  job.tid = static_cast<pid_t>(::syscall(SYS_gettid));
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL,
                0UL);  // naps between looks at the target are meant as short as they say
  try {
    job.work(job.tracees);
  } catch (const std::bad_alloc&) {  // beyond this thread it would end the process; what we hold is let go either way
    job.out_of_memory = true;
  }
  const std::lock_guard lock(job.mutex);
  job.done = true;
  job.ended.notify_one();
  return nullptr;
}

/// Any thread of the tracer's process may collect (no __WNOTHREAD).
void collect_dead(const TraceeList& tracees) {
  for (const pid_t tid : tracees.copy()) {
    int status = 0;
    if (has_ended(tid)) (void)::waitpid(tid, &status, WNOHANG | __WALL);
  }
}

void guard(Job& job) {
  std::unique_lock lock(job.mutex);
  while (!job.ended.wait_for(lock, kGuardInterval, [&] { return job.done; })) {
    lock.unlock();
    collect_dead(job.tracees);
    lock.lock();
  }
}

/// pthread_join returns a little before the kernel has released the tracees.
void wait_until_left(pid_t tid) {
  const timespec nap{0, 50'000};
  for (int i = 0; i < kLeaveTries && ::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0; i++) ::nanosleep(&nap, nullptr);
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

}  // namespace

bool has_ended(pid_t tid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return false;
  if (info.si_pid != tid) return false;
  return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

Result<void> run_as_tracer(const std::function<void(TraceeList&)>& work) {
  const SignalBlock block;
  Job job{work, {}, {}, {}};
  pthread_t thread;
  if (const int error = pthread_create(&thread, nullptr, run, &job); error != 0)
    return fail(ErrorCode::internal, 0, error);
  guard(job);
  (void)pthread_join(thread, nullptr);
  wait_until_left(job.tid);
  if (job.out_of_memory) return fail(ErrorCode::limit_exceeded, 0, ENOMEM);
  return {};
}

}  // namespace mixstack::target
