// Shortest ways from a root to objects.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/holder_words.h"
#include "mixstack/holders.h"

namespace mixstack::dotnet::holders {

/// The breadth-first walk of a graph, made before its dominators take it: which node leads to each, and which way each
/// has, by roots and types. Ways of one kind have one number. 8 bytes a node, 12 while it is made.
class ShortestWays {
 public:
  static constexpr std::size_t kMostWays = 1 << 20;

  /// `type_of`: of an object.
  ShortestWays(const HeapGraph& graph, const std::function<std::uint32_t(Node)>& type_of);

  /// The node before it; itself for what holds the roots; kNoNode: it is not reached.
  [[nodiscard]] Node before(Node node) const { return before_[node]; }
  /// Equal for objects whose ways are alike.
  [[nodiscard]] std::uint32_t way(Node node) const { return ways_[node]; }
  [[nodiscard]] bool is_object(Node node) const { return node < objects_; }

 private:
  void walk(const HeapGraph& graph, Node from, std::vector<Node>& queue);

  Node objects_;
  std::vector<Node> before_;
  std::vector<std::uint32_t> ways_;
};

/// The answer.
struct PathsFound {
  std::vector<HolderPath> paths;  ///< most bytes first
  std::uint64_t more = 0;         ///< paths that are left out
  std::uint64_t unheld = 0;       ///< objects that no root reaches
};

/// Groups of objects, each with a shortest way. Borrows all.
class HolderPaths {
 public:
  static constexpr std::size_t kMostPaths = 20, kMostSteps = 64;

  HolderPaths(const HeldHeap& heap, const ShortestWays& ways, HolderWords& words)
      : heap_(heap), ways_(ways), words_(words) {}
  /// `wanted`: objects, ascending.
  [[nodiscard]] PathsFound find(std::span<const Node> wanted);

 private:
  struct Group {
    Node first = kNoNode;
    std::uint64_t count = 0, own = 0, retained = 0;
  };
  [[nodiscard]] std::vector<HolderStep> steps_to(Node object);
  [[nodiscard]] HolderStep step_of(Node node);
  void name_holder(Node object, HolderPath& path);

  const HeldHeap& heap_;
  const ShortestWays& ways_;
  HolderWords& words_;
};

}  // namespace mixstack::dotnet::holders
