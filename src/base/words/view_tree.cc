#include "base/words/view_tree.h"

#include <algorithm>

namespace mixstack {

ViewTree::ViewTree(const RecordingView& view, const Before& before) : first_(view.nodes.size() + 1) {
  const auto& nodes = view.nodes;
  for (std::size_t n = 1; n < nodes.size(); n++) first_[nodes[n].parent + 1]++;
  for (std::size_t n = 1; n < first_.size(); n++) first_[n] += first_[n - 1];
  children_.resize(nodes.empty() ? 0 : nodes.size() - 1);
  std::vector<std::size_t> next = first_;
  for (std::size_t n = 1; n < nodes.size(); n++) children_[next[nodes[n].parent]++] = static_cast<std::uint32_t>(n);
  if (!before) return;
  for (std::size_t n = 0; n + 1 < first_.size(); n++)
    std::sort(children_.begin() + static_cast<std::ptrdiff_t>(first_[n]),
              children_.begin() + static_cast<std::ptrdiff_t>(first_[n + 1]), before);
}

std::vector<EntryCounts> entry_counts(const RecordingView& view) {
  const auto self = view.self_counts(), total = view.total_counts();
  std::vector<EntryCounts> counts(view.entries.size());
  std::vector<std::uint32_t> open(view.entries.size());  // occurrences among the callers
  ViewTree(view).walk(
      [&](std::uint32_t node) {
        const std::uint32_t entry = view.nodes[node].entry;
        counts[entry].self += self[node];
        if (open[entry]++ == 0) counts[entry].total += total[node];
        return true;
      },
      [&](std::uint32_t node) { open[view.nodes[node].entry]--; });
  return counts;
}

}  // namespace mixstack
