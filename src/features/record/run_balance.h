// How often rounds must find a thread running, by the CPU time that it used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::record {

/// A sampling thread needs a CPU itself. On a busy machine it gets one just when another thread has lost it, and so
/// finds threads ready to run instead of running: up to 12 of 100 rounds. The kernel's count of a thread's CPU time is
/// exact. Rounds that are missing by that count are made up for by rounds that find the thread ready.
class RunBalance {
 public:
  /// Call for each round that reports the thread, with the round's time and the thread's CPU time until then, ns.
  /// `last_ns`: time of the round before, if that did not report the thread because it had not run. False: there is no
  /// earlier round to compare with.
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
  /// This round found it ready to run: whether to count it as running.
  [[nodiscard]] bool owes_running() {
    if (missed_ < 0.5) return false;
    found_running();
    return true;
  }

 private:
  static constexpr double kMost = 100;  ///< rounds: older ones are not made up for
  double missed_ = 0;                   ///< rounds in which it ran and was not found running
  std::uint64_t now_ns_ = 0, run_ns_ = 0;
};

}  // namespace mixstack::record
