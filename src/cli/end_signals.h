// Signals that end a recording.
#pragma once

#include <csignal>

namespace mixstack::cli {

/// SIGINT, SIGTERM and SIGHUP are held back while one lives, and asked for. Make it before threads are started: they
/// inherit what is held back. Those that have come and were not asked for are forgotten with it.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  [[nodiscard]] const sigset_t& set() const { return signals_; }
  /// Waits for one, at most so long. The number of the one that came; 0: none.
  [[nodiscard]] int wait(int milliseconds) const;

 private:
  sigset_t signals_{}, before_{};
};

/// Whether one of them is held back and has come: who waits is to end. Of those that are not held back we would have
/// ended by ourselves.
[[nodiscard]] bool has_end_signal();

}  // namespace mixstack::cli
