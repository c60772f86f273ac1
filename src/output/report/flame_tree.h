// The stacks of a recording as one tree of functions, with how much was sampled where: what a flame graph draws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mixstack/recording.h"

namespace mixstack::report {

struct FlameNode {
  std::uint32_t parent = 0;    ///< less than the node's own number
  std::uint32_t function = 0;  ///< of the recording; meaningless for node 0, all stacks
  std::uint64_t self = 0;      ///< periods in which it was innermost
  std::uint64_t total = 0;     ///< and those in what it called
};

struct FlameTree {
  std::vector<FlameNode> nodes = std::vector<FlameNode>(1);
  std::uint32_t deepest = 0;  ///< rows below node 0
  SampleClock clock = SampleClock::wall;
  std::uint64_t runnable =
      0;  ///< of all: periods of threads that were ready to run, and for which no processor was free
};

/// Only samples of one clock: periods of different length cannot be added. Nothing for `clock`: processor time where
/// there is any.
[[nodiscard]] FlameTree flame_tree(const Recording& recording, std::optional<SampleClock> clock);

/// Children of each node, heaviest first.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> children_of(const FlameTree& tree);

}  // namespace mixstack::report
