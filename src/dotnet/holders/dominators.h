// Which node each way from a root leads through: dominators of a graph.
#pragma once

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

/// Edges by their beginnings. Nodes are closed one after the other, in order.
struct Graph {
  std::vector<std::uint32_t> first{0};  ///< where the edges of a node begin; one more than there are nodes
  NodeList to;
  [[nodiscard]] Node nodes() const { return static_cast<Node>(first.size() - 1); }
  void close_node() { first.push_back(static_cast<std::uint32_t>(to.size())); }
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
/// for n nodes and m edges, without the graph: 16 n at the depth-first walk, 28 n + 4 m' later, where m' are edges that
/// the walk did not take.
[[nodiscard]] DominatorTree dominators(Graph&& graph, std::span<const Node> roots);

}  // namespace mixstack::dotnet::holders
