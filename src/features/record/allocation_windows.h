// How long threads are watched while they allocate, and how their bytes are shared over what was seen.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::record {

/// What a hit of a breakpoint costs the thread, as measured: a thread that is watched is slower by it. On a machine
/// about a microsecond, in a virtual machine within another one tens of them.
class HitCost {
 public:
  static constexpr double kLeast = 500, kMost = 200'000, kAtFirst = 30'000;  // ns

  /// A window in which a thread ran for `running` ns and was hit `hits` times; unwatched it would be so `rate` times a
  /// second.
  void add(std::uint64_t running, std::uint64_t hits, double rate) {
    if (hits < 2 || rate <= 0) return;
    const double each = static_cast<double>(running) / static_cast<double>(hits) - 1e9 / rate;
    const double weight = seen_ < kSettled ? 1.0 / (1 + static_cast<double>(seen_)) : 1.0 / kSettled;
    ns_ += (std::clamp(each, kLeast, kMost) - ns_) * weight;
    seen_++;
  }
  [[nodiscard]] double ns() const { return ns_; }
  [[nodiscard]] bool is_measured() const { return seen_ >= kFew; }

 private:
  static constexpr std::uint64_t kSettled = 64, kFew = 8;
  double ns_ = kAtFirst;
  std::uint64_t seen_ = 0;
};

/// The length of a window.
struct WindowRule {
  double round_ns = 25e6;    ///< from one window to the next
  double most_cost = 0.005;  ///< largest share of its time that a thread may lose
  double most_hits = 4;      ///< wanted of a thread in a window
  double least_ns = 60e3;    ///< nothing shorter can be measured

  /// Of a thread that would be hit so often (hits a second), if a hit costs that (ns). Not less than `round_ns`: it is
  /// watched all the time.
  [[nodiscard]] double length(double rate, double cost) const {
    if (rate * round_ns / 1e9 < 0.5) return round_ns;
    const double affordable = most_cost * round_ns / cost;
    const double hits = std::max(std::min(most_hits, affordable), 1.0);
    return std::clamp(hits * (cost + 1e9 / rate), least_ns, round_ns);
  }
};

/// Bytes of a thread that no sample stands for yet. What a thread allocates between two windows belongs to the samples
/// of the next one.
class ByteLedger {
 public:
  /// All bytes that the thread has allocated until now; the first call says where counting begins.
  void total(std::uint64_t bytes) {
    if (has_total_ && bytes > total_) owed_ += bytes - total_;
    total_ = has_total_ ? std::max(bytes, total_) : bytes;
    has_total_ = true;
  }
  /// A thread that began after counting did: all its bytes count.
  void begin_at_zero() { has_total_ = true; }
  /// What each of `hits` samples stands for; the rest stays owed.
  [[nodiscard]] std::uint32_t share(std::uint64_t hits) {
    if (hits == 0) return 0;
    const std::uint64_t each = std::min<std::uint64_t>(owed_ / hits, UINT32_MAX);
    owed_ -= each * hits;
    return static_cast<std::uint32_t>(each);
  }
  [[nodiscard]] std::uint64_t owed() const { return owed_; }
  [[nodiscard]] std::uint64_t take() {
    const std::uint64_t all = owed_;
    owed_ = 0;
    return all;
  }

 private:
  std::uint64_t total_ = 0, owed_ = 0;
  bool has_total_ = false;
};

}  // namespace mixstack::record
