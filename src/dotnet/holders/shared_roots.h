// Roots that reach objects which none of them holds alone.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "dotnet/holders/held_heap.h"

namespace mixstack::dotnet::holders {

/// The edges between objects that have no holder, and from roots to them, out of all edges of a heap. An edge from
/// inside of what such an object retains is one of the object itself: whatever reaches its begin goes through it.
/// Borrows the heap.
class SharedRoots final : public EdgeSink {
 public:
  static constexpr std::size_t kLeastEdges = 1 << 20, kMostVisited = 1 << 20;

  explicit SharedRoots(const HeldHeap& heap);

  // All edges, in the order of nodes; then `sort`.
  void edge(Node to) override;
  void close_node() override { from_++; }
  void sort();

  struct Found {
    std::vector<Node> roots;  ///< the nearest first
    bool is_whole = true;     ///< false: not all edges were looked at
  };
  /// `places`: of objects that have no holder.
  [[nodiscard]] Found roots_of(std::span<const std::uint32_t> places) const;

 private:
  const HeldHeap& heap_;
  std::size_t most_;
  std::vector<std::uint32_t> top_;  ///< by node: the place of that above it which has no holder; kNoNode: not reached
  Node from_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< places: to, from
  bool is_full_ = false;
};

}  // namespace mixstack::dotnet::holders
