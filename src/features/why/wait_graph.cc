#include "features/why/wait_graph.h"

#include <algorithm>

#include "base/words/event_wait.h"
#include "base/words/wait_kinds.h"

namespace mixstack::why {

WaitGraph::WaitGraph(const ProcessDump& dump) : dump_(dump), edges_(dump.threads.size()) {
  for (std::uint32_t i = 0; i < size(); i++) by_tid_.emplace(dump.threads[i].tid, i);
  for (std::uint32_t i = 0; i < size(); i++)
    if (dump.threads[i].wait) add_edges_of(*dump.threads[i].wait, i);
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (runtime.pending) add_edges_of(*runtime.pending);
  waiters_.resize(size());
  for (std::uint32_t i = 0; i < size(); i++)
    for (const Edge& e : edges_[i]) waiters_[e.to].push_back(i);
}

void WaitGraph::add(std::uint32_t from, ThreadId to, bool is_sure, bool is_likely) {
  const auto it = by_tid_.find(to);
  if (it == by_tid_.end()) return;
  const auto is_known = [&](const Edge& e) { return e.to == it->second; };
  if (std::none_of(edges_[from].begin(), edges_[from].end(), is_known))
    edges_[from].push_back({it->second, is_sure, is_likely});
}

void WaitGraph::add_edges_of(const ThreadWait& wait, std::uint32_t node) {
  if (facts_of(wait.kind).is_for_any) return;
  const bool is_likely = wait.proof == Proof::likely;
  const bool ends_by_itself = wait.timeout || wait.gives_up;
  const bool is_sure = !is_likely && !ends_by_itself && !is_event(wait);
  for (const ThreadId owner : wait.owners) add(node, owner, is_sure, is_likely);
}

/// Those that are proved, and do not give up, are among the owners of what the thread waits for.
void WaitGraph::add_edges_of(const PendingWork& pending) {
  for (const AsyncChain& chain : pending.chains) {
    const auto waiter = by_tid_.find(chain.waiter);
    if (chain.runner == 0 || chain.runner == chain.waiter || waiter == by_tid_.end()) continue;
    const auto& wait = thread(waiter->second).wait;
    if (!wait || facts_of(wait->kind).is_for_any) continue;
    add(waiter->second, chain.runner, false, chain.proof == Proof::likely || wait->proof == Proof::likely);
  }
}

std::vector<std::uint32_t> WaitGraph::behind(std::uint32_t node) const {
  std::vector<bool> seen(size());
  std::vector<std::uint32_t> found, open{node};
  seen[node] = true;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    for (const std::uint32_t from : waiters_[at]) {
      if (seen[from]) continue;
      seen[from] = true;
      found.push_back(from);
      open.push_back(from);
    }
  }
  return found;
}

std::vector<std::vector<std::uint32_t>> WaitGraph::cycles() const {
  std::vector<std::vector<std::uint32_t>> found;
  for (const bool of_sure_edges : {true, false}) add_cycles(of_sure_edges, found);
  return found;
}

void WaitGraph::add_cycles(bool of_sure_edges, std::vector<std::vector<std::uint32_t>>& found) const {
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(size(), unseen);
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
      const Edge& edge = edges_[top.node][top.next_edge++];
      if (of_sure_edges && !edge.is_sure) continue;
      const std::uint32_t to = edge.to;
      if (state[to] == unseen) {
        state[to] = open;
        path.push_back({to, 0});
      } else if (state[to] == open) {
        const auto begin = std::find_if(path.begin(), path.end(), [to](const Step& s) { return s.node == to; });
        std::vector<std::uint32_t> cycle;
        for (auto it = begin; it != path.end(); ++it) cycle.push_back(it->node);
        const auto is_known = [&](std::uint32_t n) {
          return std::any_of(found.begin(), found.end(),
                             [n](const auto& c) { return std::find(c.begin(), c.end(), n) != c.end(); });
        };
        if (std::none_of(cycle.begin(), cycle.end(), is_known)) found.push_back(std::move(cycle));
      }
    }
  }
}

}  // namespace mixstack::why
