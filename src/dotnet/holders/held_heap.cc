#include "dotnet/holders/held_heap.h"

#include <algorithm>
#include <utility>

namespace mixstack::dotnet::holders {

HeldHeap::HeldHeap(HeapGraph&& graph, const ObjectNumbers& numbers, const ObjectShapes& shapes,
                   const ObjectSizes& sizes)
    : numbers_(numbers),
      shapes_(shapes),
      sizes_(sizes),
      objects_(graph.objects),
      roots_(std::move(graph.roots)),
      locals_(std::move(graph.locals)),
      tree_(dominators(std::move(graph.graph), graph.classes)) {
  const std::uint32_t n = places();
  retained_.resize(n);
  first_.assign(std::size_t{n} + 2, 0);
  for (std::uint32_t p = n; p-- > 1;) {
    retained_[p] += size(p);
    retained_[tree_.above[p]] += retained_[p];
    first_[tree_.above[p] + 2]++;
  }
  for (std::size_t i = 1; i < first_.size(); i++) first_[i] += first_[i - 1];
  held_.resize(n == 0 ? 0 : n - 1);
  for (std::uint32_t p = 1; p < n; p++) held_[first_[tree_.above[p] + 1]++] = p;
}

const StackPlace* HeldHeap::place_of(Node root, Node object) const {
  const auto key = [](const LocalEdge& e) { return std::pair(e.root, e.object); };
  const auto it = std::lower_bound(locals_.begin(), locals_.end(), std::pair(root, object),
                                   [&](const LocalEdge& e, const auto& wanted) { return key(e) < wanted; });
  return it != locals_.end() && key(*it) == std::pair(root, object) ? &it->place : nullptr;
}

}  // namespace mixstack::dotnet::holders
