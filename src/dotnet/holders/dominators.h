// Which node each way from a root leads through: dominators of a graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace mixstack::dotnet::holders {

/// A number of a node.
using Node = std::uint32_t;
inline constexpr Node kNoNode = std::numeric_limits<Node>::max();

/// Numbers one after the other, in pieces that stay where they are: growing copies nothing.
class NodeList {
 public:
  void push_back(Node n) {
    if (size_ % kPiece == 0) pieces_.push_back(std::make_unique_for_overwrite<Node[]>(kPiece));
    pieces_[size_ / kPiece][size_ % kPiece] = n;
    size_++;
  }
  [[nodiscard]] Node operator[](std::size_t i) const { return pieces_[i / kPiece][i % kPiece]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() {
    pieces_.clear();
    size_ = 0;
  }

 private:
  /// 64 MB, of which untouched pages cost nothing: malloc gives such pieces back at once, smaller ones often never.
  static constexpr std::size_t kPiece = 1 << 24;
  std::vector<std::unique_ptr<Node[]>> pieces_;
  std::size_t size_ = 0;
};

/// Edges in the order of the nodes that they begin at. Nodes are closed one after the other, in order. A bit string has
/// a one for each node and a zero for each of its edges behind it: an edge is known by the place of its bit.
class Graph {
 public:
  void add(Node to) {
    to_.push_back(to);
    push(false);
  }
  void close_node() {
    push(true);
    nodes_++;
  }
  [[nodiscard]] Node nodes() const { return nodes_; }
  /// No more nodes and edges can be numbered.
  [[nodiscard]] bool is_full() const { return length_ >= kNoNode - 1; }

  /// The first edge of a node; where it has none, and behind its last one, `is_end`.
  [[nodiscard]] std::uint32_t begin(Node node) const;
  [[nodiscard]] bool is_end(std::uint32_t edge) const { return (bits_[edge / 64] >> edge % 64 & 1) != 0; }
  /// The other end of an edge of `node`.
  [[nodiscard]] Node to(Node node, std::uint32_t edge) const { return to_[edge - node - 1]; }
  /// The node that an edge begins at.
  [[nodiscard]] Node node_of(std::uint32_t edge) const;
  /// All edges of all nodes in order: `f(node, edge, to, later)`; `later`: the other end of one that comes soon.
  template <class F>
  void each_edge(F f) const {
    const std::size_t edges = to_.size();
    std::uint32_t at = 1;
    std::size_t next = 0;
    for (Node node = 0; node < nodes_; node++, at++)
      for (; !is_end(at); at++, next++) f(node, at, to_[next], to_[std::min(next + kSoon, edges - 1)]);
  }
  void clear_edges() { to_.clear(); }  ///< leaves `node_of`

 private:
  static constexpr std::uint32_t kSample = 16, kBlock = 256, kSoon = 16;
  void push(bool is_node);

  NodeList to_;
  Node nodes_ = 0;
  std::uint32_t length_ = 1;
  std::vector<std::uint64_t> bits_{1};
  std::vector<std::uint32_t> samples_{0};  ///< place of each sixteenth one
  std::vector<std::uint32_t> counts_{0};   ///< ones before each block
};

/// Nodes in the order in which a depth-first walk meets them; everything else is by their places in it.
struct DominatorTree {
  std::vector<Node> order;
  /// The place of the last node that every way from the root leads through: its immediate dominator. It is earlier
  /// than its own; the root has 0.
  std::vector<std::uint32_t> above;
  /// Places of the roots. From each on nodes are reached from it, and not from those before it, which alone count as
  /// holders of what they reach.
  std::vector<std::uint32_t> roots;
};

/// All that can be reached. `roots`: the first takes what it reaches, each later one what is left; nothing refers to
/// them. The graph is given up on the way. Algorithm: SEMI-NCA (L. Georgiadis, 2005) without recursion; memory in bytes
/// for n nodes and m edges: the graph has 4 m + (n + m) / 7 + n / 4, to which come 8 n at the depth-first walk and
/// 12 n + 4 m' when edges are turned, where m' are edges that the walk did not take; later it is 20 n + 4 m' in all.
[[nodiscard]] DominatorTree dominators(Graph&& graph, std::span<const Node> roots);

}  // namespace mixstack::dotnet::holders
