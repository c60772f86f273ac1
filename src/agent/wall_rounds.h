// Which threads a tick of wall time samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace mixstack::agent {

/// Every thread once a round, in an order that chance gives anew each round: neither do ticks fall into step with what
/// threads do, nor is a thread that comes late in the list seen less often. One thread at a time.
class WallRounds {
 public:
  explicit WallRounds(std::uint32_t seed) : random_(seed) {}

  /// The threads there are now. The round that runs goes on with those that are still there, and those that are new.
  void update(std::span<const std::uint32_t> tids);
  /// Those that come next, at most `most`, none of them twice.
  [[nodiscard]] std::span<const std::uint32_t> next(std::size_t most);
  [[nodiscard]] std::size_t size() const { return round_.size(); }

 private:
  std::minstd_rand random_;
  std::vector<std::uint32_t> round_;  // in this round's order
  std::size_t done_ = 0;              // of it
};

}  // namespace mixstack::agent
