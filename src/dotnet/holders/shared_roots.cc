#include "dotnet/holders/shared_roots.h"

#include <algorithm>

namespace mixstack::dotnet::holders {

SharedRoots::SharedRoots(const HeldHeap& heap)
    : heap_(heap), most_(std::max<std::size_t>(kLeastEdges, heap.objects() / 4 * 3)), top_(heap.nodes(), kNoNode) {
  for (std::uint32_t p = 1; p < heap.places(); p++)
    top_[heap.node(p)] = heap.is_top(p) ? p : top_[heap.node(heap.above(p))];
}

void SharedRoots::edge(Node to) {
  if (from_ >= top_.size()) return;
  const std::uint32_t from = top_[from_], top = top_[to];
  if (from == kNoNode || top == kNoNode || from == top || heap_.node(top) != to) return;
  if (heap_.class_of(from) != heap_.class_of(top) || (!edges_.empty() && edges_.back() == std::pair(top, from))) return;
  if (edges_.size() == most_) {
    is_full_ = true;
  } else {
    edges_.emplace_back(top, from);
  }
}

void SharedRoots::sort() {
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

SharedRoots::Found SharedRoots::roots_of(std::span<const std::uint32_t> places) const {
  Found found;
  found.is_whole = !is_full_;
  std::vector<bool> seen(heap_.places());
  std::vector<std::uint32_t> queue;
  const auto visit = [&](std::uint32_t place) {
    if (seen[place]) return;
    if (queue.size() == kMostVisited) {
      found.is_whole = false;
      return;
    }
    seen[place] = true;
    queue.push_back(place);
  };
  for (const std::uint32_t p : places) visit(p);
  for (std::size_t at = 0; at < queue.size(); at++) {
    const std::uint32_t place = queue[at];
    if (heap_.root(place) != nullptr) {
      found.roots.push_back(heap_.node(place));
      continue;
    }
    const auto first = std::lower_bound(edges_.begin(), edges_.end(), std::pair(place, std::uint32_t{0}));
    for (auto it = first; it != edges_.end() && it->first == place; ++it) visit(it->second);
  }
  return found;
}

}  // namespace mixstack::dotnet::holders
