// Signals that end a recording.
#pragma once

#include <csignal>

namespace mixstack::files {

/// Blocks SIGINT, SIGTERM and SIGHUP while it lives, so that they can be polled. Make it before threads are started:
/// they inherit the signal mask. Signals still pending at its end are discarded.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  [[nodiscard]] const sigset_t& set() const { return signals_; }
  /// Waits for a signal, at most so long. Returns its number; 0: none.
  [[nodiscard]] int wait(int milliseconds) const;

 private:
  sigset_t signals_{}, before_{};
};

/// Whether one of these signals is pending, so that a wait should end. (An unblocked one would have ended us.)
[[nodiscard]] bool has_end_signal();

}  // namespace mixstack::files
