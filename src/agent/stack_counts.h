// Samples counted by stack, and written as collapsed stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/sample_ring.h"

namespace mixstack::agent {

/// Grows with distinct stacks, not with samples. One thread at a time; not for signal handlers.
class StackCounts {
 public:
  using Namer = std::function<std::string(Address, std::uint64_t method, bool is_exact)>;

  void add(const Sample& sample);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t cut() const { return cut_; }  ///< those whose walk did not reach the end of the stack
  /// A line for each different stack of names: outermost first, separated by `;`, then a space and the count.
  [[nodiscard]] std::string collapsed(const Namer& name) const;

 private:
  /// Jitted code by method, all other by address.
  std::map<std::vector<std::uint64_t>, std::pair<Sample, std::uint64_t>> counts_;
  std::uint64_t samples_ = 0, cut_ = 0;
};

}  // namespace mixstack::agent
