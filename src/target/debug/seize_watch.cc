#include "target/debug/seize_watch.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace mixstack::target {
namespace {

constexpr std::size_t kMostReports = 65'536;
constexpr long kInterval = 2'000'000;  // ns

[[nodiscard]] sigset_t own_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMAX);
  return set;
}

void run_timer(timer_t timer, long interval) {
  const itimerspec spec{{0, interval}, {0, interval}};
  (void)::timer_settime(timer, 0, &spec, nullptr);
}

}  // namespace

/// Interrupts nothing but the system call in `seize`.
__attribute__((no_sanitize("thread", "address", "undefined"))) void SeizeWatch::collect(int, siginfo_t* info, void*) {
  auto& watch = *static_cast<SeizeWatch*>(info->si_value.sival_ptr);
  const int before = errno;
  int status = 0;
  for (std::size_t count = watch.count_; count < kMostReports; count++) {
    const long tid = ::syscall(SYS_wait4, -1, &status, __WALL | WNOHANG, nullptr);
    if (tid <= 0) break;
    watch.reports_[count] = {static_cast<pid_t>(tid), status};
    watch.count_ = count + 1;
  }
  errno = before;
}

Result<void> SeizeWatch::set_up() {
  reports_.resize(kMostReports);
  struct sigaction action {};
  action.sa_sigaction = collect;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  event.sigev_value.sival_ptr = this;
  if (::sigaction(SIGRTMAX, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
    return fail(ErrorCode::internal, 0, errno);
  return {};
}

int SeizeWatch::seize(pid_t tid, long options) {
  const sigset_t signal = own_signal();
  run_timer(timer_, kInterval);
  (void)pthread_sigmask(SIG_UNBLOCK, &signal, nullptr);
  const long answer = ::ptrace(PTRACE_SEIZE, tid, nullptr, reinterpret_cast<void*>(options));
  const int error = answer == 0 ? 0 : errno;
  (void)pthread_sigmask(SIG_BLOCK, &signal, nullptr);
  run_timer(timer_, 0);
  return error;
}

void SeizeWatch::take(std::vector<TraceeReport>& out) {
  out.insert(out.end(), reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(count_));
  count_ = 0;
}

}  // namespace mixstack::target
