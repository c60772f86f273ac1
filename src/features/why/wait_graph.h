// The wait graph: threads of one dump as nodes, an edge from each waiting thread to each owner of what it waits for.
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
    bool is_sure = false;    ///< recorded or proved, and does not end by itself
    bool is_likely = false;  ///< neither recorded nor proved
  };

  explicit WaitGraph(const ProcessDump& dump);

  [[nodiscard]] std::span<const Edge> edges(std::uint32_t node) const { return edges_[node]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(edges_.size()); }
  [[nodiscard]] const ThreadDump& thread(std::uint32_t node) const { return dump_.threads[node]; }
  /// The node of a thread of the dump.
  [[nodiscard]] std::uint32_t node(ThreadId tid) const { return by_tid_.at(tid); }
  /// The nodes that wait for this one, directly or behind others.
  [[nodiscard]] std::vector<std::uint32_t> behind(std::uint32_t node) const;
  /// Cycles: each a list of nodes in which every one waits for the next and the last for the first. No two share a
  /// node. Those of sure edges alone come before others.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> cycles() const;

 private:
  void add_edges_of(const ThreadWait& wait, std::uint32_t node);
  void add_edges_of(const PendingWork& pending);
  void add(std::uint32_t from, ThreadId to, bool is_sure, bool is_likely);
  void add_cycles(bool of_sure_edges, std::vector<std::vector<std::uint32_t>>& found) const;

  const ProcessDump& dump_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<std::uint32_t>> waiters_;  ///< by node: those with an edge to it
  std::unordered_map<ThreadId, std::uint32_t> by_tid_;
};

}  // namespace mixstack::why
