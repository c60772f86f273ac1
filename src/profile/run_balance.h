// How often rounds must find a thread running, by the processor time that it used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::profile {

/// Who looks at threads needs a processor itself. On a busy machine it gets one in moments in which another thread has
/// just lost it, and finds threads that are ready to run more often than they are: up to twelve of a hundred rounds.
/// The kernel's count of a thread's processor time knows better. What it says that rounds have missed is made up for by
/// rounds that find the thread ready.
class RunBalance {
 public:
  /// Each round of which the thread is told: its time and the thread's processor time until then, ns. `last_ns`: time
  /// of the round before, if that did not tell of the thread because it had not run. False: there was none before it to
  /// compare it with.
  bool round(std::uint64_t now_ns, std::uint64_t run_ns, std::uint64_t last_ns = 0) {
    const std::uint64_t from_ns = now_ns_ == 0 ? 0 : std::max(now_ns_, last_ns);
    const bool is_comparable = from_ns != 0 && now_ns > from_ns && run_ns >= run_ns_;
    if (is_comparable) {
      const auto time = static_cast<double>(now_ns - from_ns);
      missed_ = std::min(missed_ + std::min(1.0, static_cast<double>(run_ns - run_ns_) / time), kMost);
    }
    now_ns_ = now_ns;
    run_ns_ = run_ns;
    return is_comparable;
  }
  void found_running() { missed_ = std::max(missed_ - 1, -kMost); }
  /// This round found it ready to run: whether it is to count as one in which it ran.
  [[nodiscard]] bool owes_running() {
    if (missed_ < 0.5) return false;
    found_running();
    return true;
  }

 private:
  static constexpr double kMost = 100;  ///< rounds: what lies longer back is not made up for
  double missed_ = 0;                   ///< rounds that ran and were not found so
  std::uint64_t now_ns_ = 0, run_ns_ = 0;
};

}  // namespace mixstack::profile
