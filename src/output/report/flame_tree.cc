#include "output/report/flame_tree.h"

#include <algorithm>
#include <unordered_map>

#include "base/words/recording_view.h"

namespace mixstack::report {
namespace {

SampleClock clock_of(const Recording& recording, std::optional<SampleClock> wanted) {
  if (wanted) return *wanted;
  return shown_clock(recording, {}).value_or(SampleClock::wall);
}

/// The recording's nodes that samples of the clock need, with what was sampled at each.
std::vector<std::uint64_t> self_of_nodes(const Recording& recording, SampleClock clock) {
  std::vector<std::uint64_t> self(recording.nodes().size());
  for (const Sample& sample : recording.samples())
    if (recording.contexts()[sample.context].clock == clock) self[sample.stack] += sample.count;
  return self;
}

std::vector<bool> needed(const Recording& recording, const std::vector<std::uint64_t>& self) {
  std::vector<bool> result(self.size());
  for (std::size_t i = self.size(); i-- > 1;) {
    if (self[i] > 0) result[i] = true;
    if (result[i]) result[recording.nodes()[i].parent] = true;
  }
  return result;
}

}  // namespace

FlameTree flame_tree(const Recording& recording, std::optional<SampleClock> clock) {
  FlameTree tree;
  tree.clock = clock_of(recording, clock);
  const std::vector<std::uint64_t> self = self_of_nodes(recording, tree.clock);
  const std::vector<bool> is_needed = needed(recording, self);
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // of parent and function
  std::vector<std::uint32_t> number_of(self.size()), depth(1);
  for (std::size_t i = 1; i < self.size(); i++) {
    if (!is_needed[i]) continue;
    const StackNode& node = recording.nodes()[i];
    const std::uint32_t parent = number_of[node.parent], function = recording.frames()[node.frame].function;
    if (repeats_unnamed(recording, static_cast<std::uint32_t>(i))) {
      number_of[i] = parent;
      tree.nodes[parent].self += self[i];
      continue;
    }
    const auto next = static_cast<std::uint32_t>(tree.nodes.size());
    const auto [at, is_new] = numbers.try_emplace(std::uint64_t{parent} << 32 | function, next);
    if (is_new) {
      tree.nodes.push_back({parent, function});
      depth.push_back(depth[parent] + 1);
      tree.deepest = std::max(tree.deepest, depth.back());
    }
    number_of[i] = at->second;
    tree.nodes[at->second].self += self[i];
  }
  for (const Sample& sample : recording.samples()) {
    const SampleContext& context = recording.contexts()[sample.context];
    if (context.clock == tree.clock && context.activity == Activity::runnable) tree.runnable += sample.count;
  }
  tree.nodes[0].self = self[0];
  for (FlameNode& node : tree.nodes) node.total = node.self;
  for (std::size_t i = tree.nodes.size(); i-- > 1;) tree.nodes[tree.nodes[i].parent].total += tree.nodes[i].total;
  return tree;
}

std::vector<std::vector<std::uint32_t>> children_of(const FlameTree& tree) {
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (std::uint32_t i = 1; i < tree.nodes.size(); i++) children[tree.nodes[i].parent].push_back(i);
  for (auto& list : children)
    std::stable_sort(list.begin(), list.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return tree.nodes[a].total > tree.nodes[b].total; });
  return children;
}

}  // namespace mixstack::report
