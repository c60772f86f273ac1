// How long threads are watched while they allocate, and how their bytes are shared over what was seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mixstack::record {

/// The cost of a hit to the thread: at least what it is on a thread of ours. Where a thread allocates all the time, the
/// time from hit to hit shows it in place: it is longer than from room to room of a thread that is not watched.
class HitCost {
 public:
  static constexpr double kLeast = 500, kMost = 500e3;  // ns
  static constexpr double kLeastRate = 20e3;            // hits a second: where costs are felt

  void set_own(double ns) { own_ = std::clamp(ns, kLeast, kMost); }
  /// Times from hit to hit (ns) in one window, of a thread that would be hit so often in a second of its processor
  /// time.
  void add(std::vector<double>& between, double rate) {
    if (between.size() < 2 || rate < kLeastRate) return;
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::nth_element(between.begin(), middle, between.end());
    const double most = 4 * *middle;  // beyond it the thread did not run
    double sum = 0;
    int count = 0;
    for (const double one : between) {
      if (one > most) continue;
      sum += one;
      count++;
    }
    const double each = std::clamp(sum / count - 1e9 / rate, 0.0, kMost);
    in_place_ += (each - in_place_) / (++seen_ < kSettled ? seen_ : kSettled);
  }
  [[nodiscard]] double ns() const { return std::max(own_, seen_ >= kFew ? in_place_ : 0.0); }

 private:
  static constexpr double kSettled = 64, kFew = 8;
  double own_ = 20e3, in_place_ = 0, seen_ = 0;
};

/// The length of a window. Hits make the thread's time longer, and more so where it allocates much: a window that ended
/// with the clock would see too little of what allocates most. So it ends after some time of the thread's own
/// (`own_time`), without what hits cost, and later hits do not count.
struct WindowRule {
  static constexpr double kLeast = 5e3;  // ns

  double round_ns = 25e6;    ///< from one window to the next
  double most_cost = 0.005;  ///< largest share of its time that a thread may lose
  double most_hits = 8;      ///< wanted of a thread in a window

  double longest = 5e5;  ///< ns of a window: types are read soon after it

  /// Own time (ns) of the window of a thread that would be hit so often (hits a second), if a hit costs that (ns).
  /// `round_ns`: it may be watched all the time.
  [[nodiscard]] double length(double rate, double cost) const {
    const double hits = std::min(most_hits, most_cost * round_ns / cost);
    if (rate * round_ns / 1e9 <= hits) return round_ns;
    return std::clamp(std::max(hits, 1.0) * 1e9 / rate, kLeast, longest);
  }
};
[[nodiscard]] inline double own_time(double since_opened, std::uint64_t hits, double cost) {
  return since_opened - static_cast<double>(hits) * cost;
}
/// The begin of a window: to switch words on stops the thread for as long as some hits do, most of a short window.
[[nodiscard]] inline double settling(double cost) { return 4 * cost; }
/// How long to wait (ns) until `left` of its own time may have passed, with the hits to be expected meanwhile.
[[nodiscard]] inline double time_for(double left, double rate, double cost) {
  return std::max(left, 0.0) * (1 + rate * cost / 1e9);
}

/// Shares the bytes of a thread over its hits. A hit stands for all that were not looked at: for as many as fit between
/// two windows, if windows are so long (`events`). All hits stand for as many bytes each as rooms were large of late,
/// and a little more or less while the sum differs from what the runtime has counted. The bytes of one window are not
/// shared over the hits of the same one: windows are at times by chance, and the ones with many hits would count no
/// more than those with few.
class ByteLedger {
 public:
  /// All bytes that the thread has allocated until now; the first call says where counting begins. Answers how many are
  /// new.
  std::uint64_t total(std::uint64_t bytes) {
    const std::uint64_t more = has_total_ && bytes > total_ ? bytes - total_ : 0;
    total_ = has_total_ ? std::max(bytes, total_) : bytes;
    has_total_ = true;
    owed_ += static_cast<double>(more);
    recent_bytes_ = recent_bytes_ * kKept + static_cast<double>(more);
    recent_events_ *= kKept;
    return more;
  }
  /// A thread that began after counting did: all its bytes count.
  void begin_at_zero() { has_total_ = true; }
  /// Hits of a window, each of which stands for so many events.
  void saw(std::uint64_t hits, double events) { recent_events_ += static_cast<double>(hits) * events; }
  /// The bytes of one of them.
  [[nodiscard]] std::uint32_t weight(double events) {
    if (recent_events_ <= 0) return 0;
    const double each = std::max(recent_bytes_ + owed_ * kPull, 0.0) / recent_events_ * events;
    const double whole = std::floor(std::min(each, 4294967295.0));
    owed_ -= whole;
    return static_cast<std::uint32_t>(whole);
  }
  /// Bytes that no hit stands for; less than 0: hits stand for more than there were.
  [[nodiscard]] double owed() const { return owed_; }
  [[nodiscard]] std::uint64_t take() {
    const double all = std::max(owed_, 0.0);
    owed_ = 0;
    return static_cast<std::uint64_t>(all);
  }

 private:
  static constexpr double kKept = 0.975;  // of a round: some 40 rounds, a second
  static constexpr double kPull = 0.25;

  std::uint64_t total_ = 0;
  double owed_ = 0, recent_bytes_ = 0, recent_events_ = 0;
  bool has_total_ = false;
};

}  // namespace mixstack::record
