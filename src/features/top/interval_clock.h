// When the intervals of a live view end.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::top {

/// Times are nanoseconds since the start.
class IntervalClock {
 public:
  explicit IntervalClock(std::uint64_t interval_ns) : interval_(interval_ns), next_(interval_ns) {}
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] bool is_over(std::uint64_t now) const { return now >= next_; }
  /// An interval has ended. If that is late, missed intervals are skipped instead of following in rapid succession.
  void ended(std::uint64_t now) { next_ = std::max(next_ + interval_, now + interval_ / 2); }
  /// Nothing was recorded until now.
  void begin_again(std::uint64_t now) { next_ = now + interval_; }
  /// Whether so much has passed since `begin` that a part of an interval is worth showing: a tenth.
  [[nodiscard]] bool is_worth_showing(std::uint64_t begin, std::uint64_t now) const {
    return now - begin >= interval_ / 10;
  }

 private:
  std::uint64_t interval_, next_;
};

}  // namespace mixstack::top
