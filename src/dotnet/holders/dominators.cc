#include "dotnet/holders/dominators.h"

#include <algorithm>
#include <bit>

namespace mixstack::dotnet::holders {
namespace {

using Places = std::vector<std::uint32_t>;

std::uint32_t ones(std::uint64_t bits) { return static_cast<std::uint32_t>(std::popcount(bits)); }

template <class T>
void release(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

class Finder {
 public:
  explicit Finder(Graph&& graph) : graph_(std::move(graph)) {}

  DominatorTree find(std::span<const Node> roots) {
    met_.resize(graph_.nodes());
    for (const Node root : roots) {
      if (met_[root].place != kNoNode) continue;
      tree_.roots.push_back(count_);
      walk(root);
    }
    turn();
    graph_.clear_edges();
    order();
    find_semi();
    settle();
    return std::move(tree_);
  }

 private:
  struct Met {
    std::uint32_t place = kNoNode;
    std::uint32_t by = 0;  ///< edge that led to it first; no edge is 0
  };

  /// Without a stack: the way back is in `by`.
  void walk(Node from) {
    met_[from] = {count_++, 0};
    Node node = from;
    std::uint32_t edge = graph_.begin(from);
    while (true) {
      if (graph_.is_end(edge)) {
        if (node == from) return;
        edge = met_[node].by;
        node = graph_.node_of(edge);
        edge++;
        continue;
      }
      const Node to = graph_.to(node, edge);
      if (met_[to].place != kNoNode) {
        edge++;
        continue;
      }
      met_[to] = {count_++, edge};
      const std::uint32_t below = graph_.begin(to);
      if (graph_.is_end(below)) {
        edge++;
      } else {
        node = to;
        edge = below;
      }
    }
  }

  /// Edges that the walk did not take and that count: `f(from, to)`, by places.
  template <class F>
  void each_other_edge(F f) const {
    std::uint32_t latest = 0;  // root at or before `from`
    Node last = kNoNode;
    graph_.each_edge([&](Node node, std::uint32_t edge, Node end, Node later) {
      __builtin_prefetch(&met_[later]);
      const std::uint32_t from = met_[node].place;
      if (from == kNoNode) return;
      if (node != last) latest = *(std::upper_bound(tree_.roots.begin(), tree_.roots.end(), from) - 1);
      last = node;
      const Met& to = met_[end];
      if (to.place > latest && to.place != from && to.by != edge) f(from, to.place);
    });
  }

  void turn() {
    into_.assign(std::size_t{count_} + 2, 0);
    each_other_edge([&](std::uint32_t, std::uint32_t to) { into_[to + 2]++; });
    for (std::size_t i = 1; i < into_.size(); i++) into_[i] += into_[i - 1];
    from_.resize(into_.back());
    each_other_edge([&](std::uint32_t from, std::uint32_t to) { from_[into_[to + 1]++] = from; });
  }

  /// All by places from here on.
  void order() {
    tree_.order.resize(count_);
    for (Node node = 0; node < met_.size(); node++)
      if (met_[node].place != kNoNode) tree_.order[met_[node].place] = node;
    tree_.above.resize(count_);
    for (std::uint32_t p = 0; p < count_; p++) {
      const std::uint32_t by = met_[tree_.order[p]].by;
      tree_.above[p] = by == 0 ? 0 : met_[graph_.node_of(by)].place;
    }
    release(met_);
    graph_ = {};
  }

  /// The place with the least semidominator on the way up from `v` to below `w`, with the way made shorter.
  std::uint32_t least(std::uint32_t v, std::uint32_t w) {
    if (v <= w) return v;
    way_.clear();
    std::uint32_t x = v;
    for (; ancestor_[x] > w; x = ancestor_[x]) way_.push_back(x);
    for (std::size_t i = way_.size(); i-- > 0;) {
      const std::uint32_t y = way_[i], a = ancestor_[y];
      if (semi(label_[a]) < semi(label_[y])) label_[y] = label_[a];
      ancestor_[y] = ancestor_[a];
    }
    return label_[v];
  }

  /// The semidominator of a place takes the room of the number where its edges ended, which nobody wants any more.
  [[nodiscard]] std::uint32_t& semi(std::uint32_t place) { return into_[std::size_t{place} + 1]; }

  void find_semi() {
    ancestor_ = tree_.above;
    label_.resize(count_);
    for (std::uint32_t i = 0; i < count_; i++) label_[i] = i;
    for (std::uint32_t w = count_; w-- > 1;) {
      std::uint32_t best = tree_.above[w];
      for (std::uint32_t e = into_[w]; e < into_[w + 1]; e++) {
        const std::uint32_t v = from_[e];
        best = std::min(best, v <= w ? v : semi(least(v, w)));
      }
      semi(w) = best;
    }
    release(from_);
    release(ancestor_);
    release(label_);
  }

  void settle() {
    for (std::uint32_t w = 1; w < count_; w++) {
      std::uint32_t d = tree_.above[w];
      while (d > semi(w)) d = tree_.above[d];
      tree_.above[w] = d;
    }
  }

  Graph graph_;
  DominatorTree tree_;
  std::vector<Met> met_;     ///< by node
  std::uint32_t count_ = 0;  ///< of those that were met
  Places into_;              ///< where the edges that lead to a place begin; see `semi`
  Places from_;              ///< their other ends
  Places ancestor_;          ///< in the forest of find_semi
  Places label_, way_;
};

}  // namespace

void Graph::push(bool is_node) {
  if (length_ % 64 == 0) bits_.push_back(0);
  if (length_ % kBlock == 0) counts_.push_back(nodes_ + 1);
  if (is_node) {
    bits_.back() |= std::uint64_t{1} << length_ % 64;
    if ((nodes_ + 1) % kSample == 0) samples_.push_back(length_);
  }
  length_++;
}

std::uint32_t Graph::begin(Node node) const {
  const std::uint32_t sample = samples_[node / kSample];
  std::uint32_t left = node % kSample;
  std::size_t word = sample / 64;
  std::uint64_t bits = bits_[word] >> sample % 64 << sample % 64;
  for (std::uint32_t n = ones(bits); n <= left; n = ones(bits)) {
    left -= n;
    bits = bits_[++word];
  }
  for (; left != 0; left--) bits &= bits - 1;
  return static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits)) + 1;
}

Node Graph::node_of(std::uint32_t edge) const {
  const std::size_t word = edge / 64;
  std::uint32_t count = counts_[edge / kBlock];
  for (std::size_t i = edge / kBlock * (kBlock / 64); i < word; i++) count += ones(bits_[i]);
  return count + ones(bits_[word] & ((std::uint64_t{1} << edge % 64) - 1)) - 1;
}

DominatorTree dominators(Graph&& graph, std::span<const Node> roots) { return Finder(std::move(graph)).find(roots); }

}  // namespace mixstack::dotnet::holders
