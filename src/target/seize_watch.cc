#include "target/seize_watch.h"

#include <cerrno>

#include "target/ptrace.h"

namespace mixstack::target {
namespace {

constexpr long kInterval = 2'000'000;  // ns

[[nodiscard]] sigset_t own_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMAX);
  return set;
}

}  // namespace

__attribute__((no_sanitize("thread", "address", "undefined"))) void SeizeWatch::on_timer(int, siginfo_t* info, void*) {
  const int before = errno;
  static_cast<const SeizeWatch*>(info->si_value.sival_ptr)->collect_();
  errno = before;
}

Result<void> SeizeWatch::set_up() {
  struct sigaction action {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  event.sigev_value.sival_ptr = this;
  timer_t timer{};  // of the tracer's process; ends with it
  const itimerspec spec{{0, kInterval}, {0, kInterval}};
  if (::sigaction(SIGRTMAX, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      ::timer_settime(timer, 0, &spec, nullptr) != 0)
    return fail(ErrorCode::internal, 0, errno);
  return {};
}

int SeizeWatch::seize(ThreadId tid, long options) const {
  // The signal comes in the call or stays pending, and while it is pending the timer does not run.
  const sigset_t signal = own_signal();
  (void)pthread_sigmask(SIG_UNBLOCK, &signal, nullptr);
  const int error = ptrace_seize(tid, options);
  (void)pthread_sigmask(SIG_BLOCK, &signal, nullptr);
  return error;
}

}  // namespace mixstack::target
