#include "output/files/end_signals.h"

#include <ctime>

#include <initializer_list>

namespace mixstack::files {

EndSignals::EndSignals() {
  (void)sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)sigaddset(&signals_, signal);
  (void)pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

/// Discards pending signals first: the recording that they end is over.
EndSignals::~EndSignals() {
  while (wait(0) != 0) {
  }
  (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int EndSignals::wait(int milliseconds) const {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  const int signal = sigtimedwait(&signals_, nullptr, &time);
  return signal > 0 ? signal : 0;
}

bool has_end_signal() {
  sigset_t pending{};
  (void)sigemptyset(&pending);
  (void)sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

}  // namespace mixstack::files
