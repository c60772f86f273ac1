#include "dotnet/holders/shared_roots.h"

#include <algorithm>
#include <unordered_map>

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

template <class Visitor>
bool SharedRoots::each_root(std::span<const std::uint32_t> places, std::size_t most, std::vector<bool>& seen,
                            Visitor&& root) const {
  std::vector<std::uint32_t> queue;
  bool is_whole = true;
  const auto visit = [&](std::uint32_t place) {
    if (seen[place]) return;
    if (queue.size() == most) {
      is_whole = false;
      return;
    }
    seen[place] = true;
    queue.push_back(place);
  };
  for (const std::uint32_t p : places) visit(p);
  std::size_t at = 0;
  for (unsigned steps = 0; at < queue.size(); steps++) {
    for (const std::size_t end = queue.size(); at < end; at++) {
      const std::uint32_t place = queue[at];
      if (heap_.root(place) != nullptr) {
        root(heap_.node(place), steps);
        continue;
      }
      const auto first = std::lower_bound(edges_.begin(), edges_.end(), std::pair(place, std::uint32_t{0}));
      for (auto it = first; it != edges_.end() && it->first == place; ++it) visit(it->second);
    }
  }
  for (const std::uint32_t place : queue) seen[place] = false;
  return is_whole;
}

/// By a sample of the places, each as often as its bytes count.
void SharedRoots::put_in_order(std::span<const std::uint32_t> places, std::vector<bool>& seen,
                               std::vector<Node>& roots) const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t p : places) bytes += heap_.retained(p);
  const std::uint64_t step = bytes / kMostSamples + 1;
  std::unordered_map<Node, double> weight;
  std::uint64_t before = 0;
  for (const std::uint32_t p : places) {
    const std::uint64_t behind = before + heap_.retained(p), samples = behind / step - before / step;
    before = behind;
    if (samples == 0) continue;
    each_root(std::span(&p, 1), kMostVisitedBySample, seen,
              [&](Node root, unsigned steps) { weight[root] += static_cast<double>(samples) / (1 + steps); });
  }
  std::stable_sort(roots.begin(), roots.end(), [&](Node a, Node b) { return weight[a] > weight[b]; });
}

SharedRoots::Found SharedRoots::roots_of(std::span<const std::uint32_t> places) const {
  Found found;
  std::vector<bool> seen(heap_.places());
  const bool are_all = each_root(places, kMostVisited, seen, [&](Node root, unsigned) { found.roots.push_back(root); });
  found.is_whole = are_all && !is_full_;
  if (found.roots.size() > 1) put_in_order(places, seen, found.roots);
  return found;
}

}  // namespace mixstack::dotnet::holders
