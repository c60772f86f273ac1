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
  static constexpr std::size_t kMostSamples = 64, kMostVisitedBySample = 1 << 13;

  explicit SharedRoots(const HeldHeap& heap);

  // All edges, in the order of nodes; then `sort`.
  void edge(Node to) override;
  void close_node() override { from_++; }
  void sort();

  struct Found {
    std::vector<Node> roots;  ///< those first that reach most of the bytes on the shortest ways
    bool is_whole = true;     ///< false: not all edges were looked at
  };
  /// `places`: of objects that have no holder.
  [[nodiscard]] Found roots_of(std::span<const std::uint32_t> places) const;

 private:
  /// Goes from some places to what leads to them, the nearest first; tells `root` of each root and the number of steps
  /// to it. `seen` has one bit for each place, all clear before and after. False: more than `most` places lead there.
  template <class Visitor>
  bool each_root(std::span<const std::uint32_t> places, std::size_t most, std::vector<bool>& seen,
                 Visitor&& root) const;
  void put_in_order(std::span<const std::uint32_t> places, std::vector<bool>& seen, std::vector<Node>& roots) const;

  const HeldHeap& heap_;
  std::size_t most_;
  std::vector<std::uint32_t> top_;  ///< by node: the place of that above it which has no holder; kNoNode: not reached
  Node from_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< places: to, from
  bool is_full_ = false;
};

}  // namespace mixstack::dotnet::holders
