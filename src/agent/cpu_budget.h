// How much the agent's own thread may do.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mixstack::agent {

/// Keeps a share of one processor: what a tick may do is halved when the last period took more, and grows back by
/// steps. Plain arithmetic of times; one thread at a time.
class CpuBudget {
 public:
  static constexpr std::uint64_t kPeriod = 1'000'000'000;  ///< ns over which it is looked at
  static constexpr unsigned kMostPerMille = 25;

  explicit CpuBudget(unsigned full) : full_(full), allowed_(full) {}

  /// `now` and `cpu` in ns: of the wall and of the agent's thread.
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
