#include "dotnet/holders/held_heap.h"

#include <algorithm>
#include <limits>
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
  sort();
  std::uint64_t all = 0;
  for (std::uint32_t p = 0; p < places(); p++) all += size(p);
  if (all / kUnit <= std::numeric_limits<std::uint32_t>::max()) {
    add_up(retained_, kUnit);
  } else {
    add_up(wide_, 1);
  }
}

/// From the order of the walk. A place is given once its holder's is, for that comes earlier in both orders.
void HeldHeap::sort() {
  const std::uint32_t n = places();
  if (n == 0) return;
  below_.assign(n, 1);
  for (std::uint32_t p = n; p-- > 1;) below_[above(p)] += below_[p];
  std::vector<std::uint32_t> to(n), sorted(n);  // to: first where the next one below goes
  to[0] = 1;
  for (std::uint32_t p = 1; p < n; p++) {
    std::uint32_t& next = to[above(p)];
    to[p] = next + 1;
    next += below_[p];
  }
  for (std::uint32_t p = 0; p < n; p++) to[p] -= below_[p];
  for (std::uint32_t p = 0; p < n; p++) sorted[to[p]] = tree_.order[p];
  tree_.order.swap(sorted);
  for (std::uint32_t p = 0; p < n; p++) sorted[to[p]] = to[tree_.above[p]];
  tree_.above.swap(sorted);
  for (std::uint32_t p = 0; p < n; p++) sorted[to[p]] = below_[p];
  below_.swap(sorted);
  for (std::uint32_t& root : tree_.roots) root = to[root];
}

template <class T>
void HeldHeap::add_up(std::vector<T>& retained, std::uint64_t unit) const {
  retained.resize(places());
  for (std::uint32_t p = places(); p-- > 1;) {
    retained[p] = static_cast<T>(retained[p] + size(p) / unit);
    retained[above(p)] = static_cast<T>(retained[above(p)] + retained[p]);
  }
}

const StackPlace* HeldHeap::place_of(Node root, Node object) const {
  const auto key = [](const LocalEdge& e) { return std::pair(e.root, e.object); };
  const auto it = std::lower_bound(locals_.begin(), locals_.end(), std::pair(root, object),
                                   [&](const LocalEdge& e, const auto& wanted) { return key(e) < wanted; });
  return it != locals_.end() && key(*it) == std::pair(root, object) ? &it->place : nullptr;
}

}  // namespace mixstack::dotnet::holders
