// Chooses the threads that a tick of wall time samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace mixstack::agent {

/// Every thread once a round, in a new random order each round, so that ticks do not fall into step with the threads'
/// work, and late threads of the list are not sampled less. Not thread-safe.
class WallRounds {
 public:
  explicit WallRounds(std::uint32_t seed) : random_(seed) {}

  /// Sets the list of threads. The current round goes on with the remaining ones and the new ones.
  void update(std::span<const std::uint32_t> tids);
  /// The next threads, at most `most`, without duplicates.
  [[nodiscard]] std::span<const std::uint32_t> next(std::size_t most);
  [[nodiscard]] std::size_t size() const { return round_.size(); }

 private:
  std::minstd_rand random_;
  std::vector<std::uint32_t> round_;  // in this round's order
  std::size_t done_ = 0;              // number of them done in this round
};

}  // namespace mixstack::agent
