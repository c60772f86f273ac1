#include "process/kernel/seize_watch.h"

#include <cerrno>

#include "process/kernel/ptrace.h"

namespace mixstack::process {
namespace {

constexpr long kInterval = 2'000'000;  // ns
// Thousands of threads take the handler longer than the interval: the seize must have most of the time.
constexpr long kShareOfSeize = 4;
constexpr long kSecond = 1'000'000'000;

[[nodiscard]] long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

[[nodiscard]] sigset_t own_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMAX);
  return set;
}

}  // namespace

__attribute__((no_sanitize("thread", "address", "undefined"))) void SeizeWatch::on_timer(int, siginfo_t* info, void*) {
  const int before = errno;
  static_cast<const SeizeWatch*>(info->si_value.sival_ptr)->collect_and_rearm();
  errno = before;
}

/// The timer is one-shot: a periodic one would be due again before a slow handler has ended, and so for ever.
__attribute__((no_sanitize("thread", "address", "undefined"))) void SeizeWatch::collect_and_rearm() const {
  const long begin = now_ns();
  collect_();
  const long took = now_ns() - begin;
  const long pause = took > kInterval / kShareOfSeize ? took * kShareOfSeize : kInterval;
  const itimerspec next{{0, 0}, {pause / kSecond, pause % kSecond}};
  (void)::timer_settime(timer_, 0, &next, nullptr);
}

Result<void> SeizeWatch::set_up() {
  struct sigaction action {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  event.sigev_value.sival_ptr = this;
  const itimerspec first{{0, 0}, {0, kInterval}};
  if (::sigaction(SIGRTMAX, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0 ||
      ::timer_settime(timer_, 0, &first, nullptr) != 0)
    return fail(ErrorCode::internal, 0, errno);
  return {};
}

int SeizeWatch::seize(ThreadId tid, long options) const {
  // The signal comes in the call or stays pending; the timer runs again when it was handled.
  const sigset_t signal = own_signal();
  (void)pthread_sigmask(SIG_UNBLOCK, &signal, nullptr);
  const int error = ptrace_seize(tid, options);
  (void)pthread_sigmask(SIG_BLOCK, &signal, nullptr);
  return error;
}

}  // namespace mixstack::process
