#include "process/kernel/tracer_process.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

// Two processes use one thread's storage here, one after the other in program order but not in the eyes of a sanitizer:
// the functions on both sides of the hand-over must not be instrumented.
#define MIXSTACK_PLAIN __attribute__((no_sanitize("thread", "address", "undefined"), noinline))

namespace mixstack::process {
namespace {

constexpr std::size_t kStackBytes = 8 << 20;
constexpr std::size_t kGuardBytes = 64 << 10;
constexpr int kNotYet = -1;
constexpr int kSignals = 64;
constexpr std::size_t kKernelSignalSetBytes = 8;

class Stack {
 public:
  Stack()
      : base_(::mmap(nullptr, kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)) {
    if (base_ == MAP_FAILED) return;
    usable_ =
        ::mprotect(static_cast<char*>(base_) + kGuardBytes, kStackBytes - kGuardBytes, PROT_READ | PROT_WRITE) == 0;
  }
  ~Stack() {
    if (base_ != MAP_FAILED) ::munmap(base_, kStackBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  [[nodiscard]] void* top() const { return usable_ ? static_cast<char*>(base_) + kStackBytes : nullptr; }

 private:
  void* base_;
  bool usable_ = false;
};

}  // namespace

struct TracerProcess::Job {
  std::function<void()> main, ended;
  Stack stack;
  pid_t host = 0;
  pid_t tracer = 0;
  std::atomic<int> started{kNotYet};  // errno, 0: it runs
  std::atomic<int> exit_status{0};    // of a process that exited

  /// The first answer counts.
  void answer(int error) {
    int expected = kNotYet;
    if (started.compare_exchange_strong(expected, error)) started.notify_all();
  }

  static int run(void* argument);
  static int lend(Job& job);
  static void* lending_thread(void* argument);
};

/// The first function of the process.
MIXSTACK_PLAIN int TracerProcess::Job::run(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  // The host's handlers belong to the host; through the C library this would change what it believes of them.
  const std::array<char, 64> to_default{};
  for (int s = 1; s <= kSignals; s++)
    (void)::syscall(SYS_rt_sigaction, s, to_default.data(), nullptr, kKernelSignalSetBytes);
  (void)::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
  (void)::syscall(SYS_prctl, PR_SET_NAME, "mixstack-tracer", 0UL, 0UL, 0UL);
  // The lending thread may have ended before the line above took effect.
  if (::syscall(SYS_getppid) == job.host) {
    job.tracer = static_cast<pid_t>(::syscall(SYS_getpid));
    job.answer(0);
    job.main();
  }
  for (;;) ::syscall(SYS_exit_group, 0);
}

/// Makes the process and sleeps until it has ended. Touches no thread-local storage between the two.
MIXSTACK_PLAIN int TracerProcess::Job::lend(Job& job) {
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
  const int pid = ::clone(run, job.stack.top(), kFlags, &job);
  if (pid < 0) return errno;
  siginfo_t info{};
  while (::syscall(SYS_waitid, P_PID, pid, &info, WEXITED | __WALL, nullptr) != 0 && errno == EINTR) {
  }
  if (info.si_code == CLD_EXITED) job.exit_status = info.si_status;
  return 0;
}

void* TracerProcess::Job::lending_thread(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  const int error = lend(job);
  job.answer(error != 0 ? error : ECHILD);  // it may have been killed before it answered
  job.ended();
  return nullptr;
}

TracerProcess::TracerProcess() : job_(std::make_unique<Job>()) {}

Result<std::unique_ptr<TracerProcess>> TracerProcess::start(std::function<void()> main, std::function<void()> ended) {
  std::unique_ptr<TracerProcess> process(new TracerProcess);
  Job& job = *process->job_;
  job.main = std::move(main);
  job.ended = std::move(ended);
  job.host = ::getpid();
  auto failed = [&](int error) {
    job.host = 0;  // nothing to join
    return fail(ErrorCode::internal, 0, error);
  };
  if (job.stack.top() == nullptr) return failed(ENOMEM);
  sigset_t all, before;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&process->thread_, nullptr, Job::lending_thread, &job);
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return failed(error);
  job.started.wait(kNotYet);
  if (const int refused = job.started; refused != 0) {
    (void)pthread_join(process->thread_, nullptr);
    return failed(refused);
  }
  return process;
}

TracerProcess::~TracerProcess() {
  if (is_ours()) (void)pthread_join(thread_, nullptr);
}

pid_t TracerProcess::pid() const { return job_->tracer; }
int TracerProcess::exit_status() const { return job_->exit_status; }
bool TracerProcess::is_ours() const { return job_->host == ::getpid(); }

}  // namespace mixstack::process
