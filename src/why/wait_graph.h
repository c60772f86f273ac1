// Who waits for whom: threads of one dump as nodes, an edge to each thread that holds what another one waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mixstack/dump.h"

namespace mixstack::why {

/// Borrows the dump. Nodes are indices into its threads.
class WaitGraph {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  struct Edge {
    std::uint32_t to = 0;
    bool is_sure = false;  ///< recorded or proved, not only likely
  };

  explicit WaitGraph(const ProcessDump& dump);

  [[nodiscard]] std::span<const Edge> edges(std::uint32_t node) const { return edges_[node]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(edges_.size()); }
  [[nodiscard]] const ThreadDump& thread(std::uint32_t node) const { return dump_.threads[node]; }
  /// How many threads wait for this one, directly or behind others.
  [[nodiscard]] std::vector<std::uint32_t> held_up() const;
  /// Circles: each a list of nodes in which every one waits for the next and the last for the first. No two share a
  /// node.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> circles() const;

 private:
  const ProcessDump& dump_;
  std::vector<std::vector<Edge>> edges_;
};

}  // namespace mixstack::why
