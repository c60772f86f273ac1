#include "why/wait_graph.h"

#include <algorithm>

namespace mixstack::why {
namespace {

/// Of the others it is not known whether they wait for ever.
bool tells_its_timeout(WaitKind kind) { return kind != WaitKind::reader_writer_lock; }

}  // namespace

WaitGraph::WaitGraph(const ProcessDump& dump) : dump_(dump), edges_(dump.threads.size()) {
  std::unordered_map<ThreadId, std::uint32_t> by_tid;
  for (std::uint32_t i = 0; i < size(); i++) by_tid.emplace(dump.threads[i].tid, i);
  for (std::uint32_t i = 0; i < size(); i++) {
    const auto& wait = dump.threads[i].wait;
    if (!wait) continue;
    // Of a wait for any of several nobody alone holds the thread up.
    if (wait->kind == WaitKind::any_task || wait->kind == WaitKind::wait_handles) continue;
    for (const ThreadId owner : wait->owners)
      if (const auto it = by_tid.find(owner); it != by_tid.end())
        edges_[i].push_back({it->second, wait->proof != Proof::likely && tells_its_timeout(wait->kind)});
  }
}

std::vector<std::uint32_t> WaitGraph::held_up() const {
  std::vector<std::vector<std::uint32_t>> back(size());
  for (std::uint32_t i = 0; i < size(); i++)
    for (const Edge& e : edges_[i]) back[e.to].push_back(i);
  std::vector<std::uint32_t> counts(size()), seen(size(), kNobody), open;
  for (std::uint32_t i = 0; i < size(); i++) {
    if (back[i].empty()) continue;
    open.assign(1, i);
    seen[i] = i;
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t from : back[at]) {
        if (seen[from] == i) continue;
        seen[from] = i;
        counts[i]++;
        open.push_back(from);
      }
    }
  }
  return counts;
}

std::vector<std::vector<std::uint32_t>> WaitGraph::circles() const {
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(size(), unseen);
  std::vector<std::vector<std::uint32_t>> found;
  struct Step {
    std::uint32_t node;
    std::size_t next_edge;
  };
  std::vector<Step> path;
  for (std::uint32_t start = 0; start < size(); start++) {
    if (state[start] != unseen) continue;
    path.assign(1, {start, 0});
    state[start] = open;
    while (!path.empty()) {
      Step& top = path.back();
      if (top.next_edge == edges_[top.node].size()) {
        state[top.node] = done;
        path.pop_back();
        continue;
      }
      const std::uint32_t to = edges_[top.node][top.next_edge++].to;
      if (state[to] == unseen) {
        state[to] = open;
        path.push_back({to, 0});
      } else if (state[to] == open) {
        const auto begin = std::find_if(path.begin(), path.end(), [to](const Step& s) { return s.node == to; });
        std::vector<std::uint32_t> circle;
        for (auto it = begin; it != path.end(); ++it) circle.push_back(it->node);
        const auto is_known = [&](std::uint32_t n) {
          return std::any_of(found.begin(), found.end(),
                             [n](const auto& c) { return std::find(c.begin(), c.end(), n) != c.end(); });
        };
        if (std::none_of(circle.begin(), circle.end(), is_known)) found.push_back(std::move(circle));
      }
    }
  }
  return found;
}

}  // namespace mixstack::why
