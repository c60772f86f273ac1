#include "dotnet/holders/held_heap.h"

namespace mixstack::dotnet::holders {

HeldHeap::HeldHeap(HeapGraph&& graph, const ObjectNumbers& numbers, const ObjectShapes& shapes,
                   const ObjectSizes& sizes)
    : numbers_(numbers),
      shapes_(shapes),
      sizes_(sizes),
      objects_(graph.objects),
      roots_(std::move(graph.roots)),
      tree_(dominators(std::move(graph.graph), graph.root, graph.second)) {
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

}  // namespace mixstack::dotnet::holders
