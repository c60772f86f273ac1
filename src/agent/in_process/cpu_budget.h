// Limits the CPU time of the agent's own thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::agent {

/// Keeps the thread below kMostPerMille of one processor: the threads per tick are halved when the last period took
/// more, and grow back in steps. Plain arithmetic; not thread-safe.
class CpuBudget {
 public:
  static constexpr std::uint64_t kPeriod = 1'000'000'000;  ///< ns over which the share is measured
  static constexpr unsigned kMostPerMille = 25;

  explicit CpuBudget(unsigned full) : full_(full), allowed_(full) {}

  /// `now` is wall time, `cpu` the CPU time of the agent's thread, both in ns.
  void look(std::uint64_t now, std::uint64_t cpu) {
    if (begin_ == 0) begin_ = now, cpu_ = cpu;
    if (now - begin_ < kPeriod) return;
    const std::uint64_t per_mille = (cpu - cpu_) * 1000 / (now - begin_);
    if (per_mille > kMostPerMille)
      allowed_ = std::max(allowed_ / 2, 1u);
    else if (per_mille * 2 <= kMostPerMille)
      allowed_ = std::min(allowed_ + std::max(full_ / 8, 1u), full_);
    begin_ = now, cpu_ = cpu;
  }
  [[nodiscard]] unsigned allowed() const { return allowed_; }

 private:
  unsigned full_, allowed_;
  std::uint64_t begin_ = 0, cpu_ = 0;
};

}  // namespace mixstack::agent
