// When rounds of wall time are due.
#pragma once

#include <cstdint>
#include <random>

namespace mixstack::record {

/// One instant in each period, at a random place in it: no drift, and no lockstep with timers of the target, whatever
/// their period. Times in ns of one clock.
class RoundClock {
 public:
  RoundClock(std::uint64_t start, std::uint64_t period, std::uint32_t seed)
      : start_(start), period_(period == 0 ? 1 : period), random_(seed) {}

  /// The next instant. Periods that `now` has passed are skipped, and counted.
  [[nodiscard]] std::uint64_t next(std::uint64_t now) {
    round_++;
    const std::uint64_t current = now <= start_ ? 0 : (now - start_) / period_;
    if (current > round_) {
      skipped_ += current - round_;
      round_ = current;
    }
    const std::uint64_t within = std::uniform_int_distribution<std::uint64_t>(0, period_ - 1)(random_);
    return start_ + round_ * period_ + within;
  }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  std::uint64_t start_, period_;
  std::uint64_t round_ = 0, skipped_ = 0;
  std::minstd_rand random_;
};

}  // namespace mixstack::record
