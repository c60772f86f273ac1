#include "dotnet/holders/holder_paths.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace mixstack::dotnet::holders {

void ShortestWays::walk(const HeapGraph& graph, Node from, std::vector<Node>& queue) {
  if (before_[from] != kNoNode) return;
  std::size_t at = queue.size();
  before_[from] = from;
  queue.push_back(from);
  for (; at < queue.size(); at++) {
    const Node node = queue[at];
    for (std::uint32_t e = graph.graph.begin(node); !graph.graph.is_end(e); e++) {
      const Node to = graph.graph.to(node, e);
      if (before_[to] != kNoNode) continue;
      before_[to] = node;
      queue.push_back(to);
    }
  }
}

/// A way is the one before it and one type or root more; a type that repeats itself makes it no other one.
ShortestWays::ShortestWays(const HeapGraph& graph, const std::function<std::uint32_t(Node)>& type_of)
    : objects_(graph.objects), before_(graph.graph.nodes(), kNoNode), ways_(graph.graph.nodes(), 0) {
  std::vector<Node> queue;
  queue.reserve(graph.graph.nodes());
  for (const Node root : graph.classes) walk(graph, root, queue);
  std::vector<std::uint64_t> known(1);  ///< last step of each way
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint32_t>>> numbers;
  for (const Node node : queue) {
    if (before_[node] == node) continue;
    const std::uint32_t above = ways_[before_[node]];
    constexpr std::uint64_t kRoot = std::uint64_t{1} << 32;
    const std::uint64_t last = is_object(node) ? type_of(node) : kRoot + node;
    if (above != 0 && known[above] == last) {
      ways_[node] = above;
      continue;
    }
    auto& same = numbers[(std::uint64_t{above} << 32) ^ last * 0x9e3779b97f4a7c15u];
    const std::uint64_t key = std::uint64_t{above} << 33 | last;
    const auto it = std::find_if(same.begin(), same.end(), [&](const auto& n) { return n.first == key; });
    if (it != same.end()) {
      ways_[node] = it->second;
    } else if (known.size() < kMostWays) {
      ways_[node] = static_cast<std::uint32_t>(known.size());
      known.push_back(last);
      same.emplace_back(key, ways_[node]);
    }
  }
}

HolderStep HolderPaths::step_of(Node node) {
  HolderStep step;
  if (ways_.is_object(node)) {
    step.object = heap_.numbers().address(node);
    const std::uint32_t type = heap_.type_of(node);
    step.name = words_.type(type).name;
    step.method = words_.method(type, step.object);
    step.request = words_.request(type, step.object);
    if (const StackPlace* place = heap_.place_of(ways_.before(node), node)) step.place = *place;
  } else if (const RootNode* root = heap_.root_of(node); root != nullptr) {
    step.root = root->kind;
    step.name = root->name;
  }
  return step;
}

/// From the root on: the first half of the steps, and the last.
std::vector<HolderStep> HolderPaths::steps_to(Node object) {
  struct Run {
    Node last = kNoNode, first = kNoNode;  ///< on the way from the object up
    std::uint64_t count = 0;
  };
  std::vector<Run> runs;
  for (Node at = object; ways_.before(at) != at; at = ways_.before(at)) {
    const bool is_same = !runs.empty() && ways_.is_object(at) && ways_.is_object(runs.back().first) &&
                         heap_.type_of(at) == heap_.type_of(runs.back().first);
    if (!is_same) runs.push_back({at, at, 0});
    runs.back().first = at;
    runs.back().count++;
  }
  std::reverse(runs.begin(), runs.end());
  if (runs.size() > kMostSteps)
    runs.erase(runs.begin() + kMostSteps / 2, runs.end() - static_cast<std::ptrdiff_t>(kMostSteps / 2));
  std::vector<HolderStep> steps;
  Node before = kNoNode;
  for (const Run& run : runs) {
    HolderStep step = step_of(run.last);
    step.count = run.count;
    if (before != kNoNode && ways_.is_object(before) && ways_.before(run.first) == before)
      step.field = words_.field(heap_.type_of(before), heap_.numbers().address(before), heap_.size_of(before),
                                heap_.numbers().address(run.first));
    before = run.last;
    steps.push_back(std::move(step));
  }
  return steps;
}

void HolderPaths::name_holder(Node object, HolderPath& path) {
  for (std::uint32_t p = 1; p < heap_.places(); p++) {
    if (heap_.node(p) != object) continue;
    const std::uint32_t above = heap_.above(p);
    if (heap_.is_object(above)) {
      path.holder = heap_.address(above);
      path.holder_name = words_.type(heap_.type(above)).name;
    } else if (const RootNode* root = heap_.root(above); root != nullptr) {
      path.holder_name = root->name.empty() ? to_string(root->kind) : root->name;
    }
    return;
  }
}

PathsFound HolderPaths::find(std::span<const Node> wanted) {
  PathsFound out;
  std::map<std::uint32_t, Group> groups;
  for (const Node object : wanted) {
    if (ways_.before(object) == kNoNode) {
      out.unheld++;
      continue;
    }
    Group& g = groups[ways_.way(object)];
    if (g.first == kNoNode) g.first = object;
    g.count++;
    g.own += heap_.size_of(object);
  }
  // Those that another one of them retains are counted there.
  std::vector<bool> is_below(heap_.places());
  for (std::uint32_t p = 1; p < heap_.places(); p++) {
    const std::uint32_t above = heap_.above(p);
    const bool is_one = heap_.is_object(p) && std::binary_search(wanted.begin(), wanted.end(), heap_.node(p));
    if (is_one && !is_below[above]) groups[ways_.way(heap_.node(p))].retained += heap_.retained(p);
    is_below[p] = is_below[above] || is_one;
  }
  std::vector<Group> most;
  for (const auto& [way, group] : groups)
    if (group.first != kNoNode) most.push_back(group);
  std::stable_sort(most.begin(), most.end(), [](const Group& a, const Group& b) { return a.retained > b.retained; });
  out.more = most.size() > kMostPaths ? most.size() - kMostPaths : 0;
  most.resize(std::min(most.size(), kMostPaths));
  for (const Group& g : most) {
    HolderPath path{steps_to(g.first), g.count, g.own, g.retained, 0, {}};
    if (wanted.size() == 1) name_holder(g.first, path);
    out.paths.push_back(std::move(path));
  }
  return out;
}

}  // namespace mixstack::dotnet::holders
