#include "dotnet/holders/dominators.h"

#include <algorithm>

namespace mixstack::dotnet::holders {
namespace {

using Places = std::vector<std::uint32_t>;

class Finder {
 public:
  explicit Finder(Graph&& graph) : graph_(std::move(graph)) {}

  DominatorTree find(std::span<const Node> roots) {
    walk_all(roots);
    turn();
    graph_ = {};
    place_.clear();
    place_.shrink_to_fit();
    find_semi();
    settle();
    return std::move(tree_);
  }

 private:
  void meet(Node node, std::uint32_t parent) {
    place_[node] = static_cast<std::uint32_t>(tree_.order.size());
    tree_.order.push_back(node);
    parent_.push_back(parent);
    next_[node] = graph_.first[node];
  }

  /// Without a stack: the way back is in `parent_`.
  void walk(Node from, std::uint32_t parent) {
    const auto top = static_cast<std::uint32_t>(tree_.order.size());
    meet(from, parent);
    std::uint32_t at = top;
    while (true) {
      const Node node = tree_.order[at];
      if (next_[node] == graph_.first[node + 1]) {
        if (at == top) return;
        at = parent_[at];
        continue;
      }
      const Node to = graph_.to[next_[node]++];
      if (place_[to] != kNoNode) continue;
      meet(to, at);
      at = place_[to];
    }
  }

  void walk_all(std::span<const Node> roots) {
    place_.assign(graph_.nodes(), kNoNode);
    next_.assign(graph_.nodes(), 0);
    tree_.order.reserve(graph_.nodes());
    parent_.reserve(graph_.nodes());
    for (const Node root : roots) {
      if (place_[root] != kNoNode) continue;
      tree_.roots.push_back(static_cast<std::uint32_t>(tree_.order.size()));
      walk(root, 0);
    }
    next_.clear();
    next_.shrink_to_fit();
  }

  /// Edges that the walk did not take and that count: `f(from, to)`, by places.
  template <class F>
  void each_other_edge(F f) const {
    std::size_t next = 0;      // root
    std::uint32_t latest = 0;  // root at or before `from`
    for (std::uint32_t from = 0; from < tree_.order.size(); from++) {
      if (next < tree_.roots.size() && tree_.roots[next] == from) latest = tree_.roots[next++];
      const Node node = tree_.order[from];
      for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; e++) {
        const std::uint32_t to = place_[graph_.to[e]];
        if (to <= latest || to == from || parent_[to] == from) continue;
        f(from, to);
      }
    }
  }

  void turn() {
    const std::size_t n = tree_.order.size();
    into_.assign(n + 2, 0);
    each_other_edge([&](std::uint32_t, std::uint32_t to) { into_[to + 2]++; });
    for (std::size_t i = 1; i < into_.size(); i++) into_[i] += into_[i - 1];
    from_.resize(into_.back());
    each_other_edge([&](std::uint32_t from, std::uint32_t to) { from_[into_[to + 1]++] = from; });
  }

  /// The place with the least semidominator on the way up from `v` to below `w`, with the way made shorter.
  std::uint32_t least(std::uint32_t v, std::uint32_t w) {
    if (v <= w) return v;
    way_.clear();
    std::uint32_t x = v;
    for (; ancestor_[x] > w; x = ancestor_[x]) way_.push_back(x);
    for (std::size_t i = way_.size(); i-- > 0;) {
      const std::uint32_t y = way_[i], a = ancestor_[y];
      if (semi_[label_[a]] < semi_[label_[y]]) label_[y] = label_[a];
      ancestor_[y] = ancestor_[a];
    }
    return label_[v];
  }

  void find_semi() {
    const auto n = static_cast<std::uint32_t>(tree_.order.size());
    tree_.above = parent_;
    ancestor_ = std::move(parent_);
    label_.resize(n);
    semi_.resize(n);
    for (std::uint32_t i = 0; i < n; i++) label_[i] = semi_[i] = i;
    for (std::uint32_t w = n; w-- > 1;) {
      std::uint32_t best = tree_.above[w];
      for (std::uint32_t e = into_[w]; e < into_[w + 1]; e++) {
        const std::uint32_t v = from_[e];
        best = std::min(best, v <= w ? v : semi_[least(v, w)]);
      }
      semi_[w] = best;
    }
  }

  void settle() {
    for (std::uint32_t w = 1; w < tree_.above.size(); w++) {
      std::uint32_t d = tree_.above[w];
      while (d > semi_[w]) d = tree_.above[d];
      tree_.above[w] = d;
    }
  }

  Graph graph_;
  DominatorTree tree_;
  Places place_;     ///< of nodes
  Places next_;      ///< edge to go on with, of nodes
  Places parent_;    ///< in the walk
  Places into_;      ///< where the edges that lead to a place begin
  Places from_;      ///< their other ends
  Places ancestor_;  ///< in the forest of find_semi
  Places label_, semi_, way_;
};

}  // namespace

DominatorTree dominators(Graph&& graph, std::span<const Node> roots) { return Finder(std::move(graph)).find(roots); }

}  // namespace mixstack::dotnet::holders
