#include "cli/end_signals.h"

#include <ctime>

#include <initializer_list>

namespace mixstack::cli {

EndSignals::EndSignals() {
  (void)sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)sigaddset(&signals_, signal);
  (void)pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

EndSignals::~EndSignals() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int EndSignals::wait(int milliseconds) const {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  const int signal = sigtimedwait(&signals_, nullptr, &time);
  return signal > 0 ? signal : 0;
}

}  // namespace mixstack::cli
