#include "features/why/judge.h"

#include <algorithm>
#include <map>

#include "base/words/event_wait.h"
#include "base/words/wait_kinds.h"
#include "features/why/async_cycles.h"
#include "features/why/await_cycles.h"
#include "features/why/processes.h"
#include "features/why/starvation.h"
#include "features/why/wait_graph.h"

namespace mixstack::why {
namespace {

/// The edge of a node to another one.
const WaitGraph::Edge* edge_to(const WaitGraph& graph, std::uint32_t from, std::uint32_t to) {
  for (const WaitGraph::Edge& e : graph.edges(from))
    if (e.to == to) return &e;
  return nullptr;
}

/// How many threads wait for this one, directly or behind others.
std::uint32_t held_up(const WaitGraph& graph, std::uint32_t node) {
  return static_cast<std::uint32_t>(graph.behind(node).size());
}

/// Waits for a task, a thread or a callback to end are normal: hosts wait so for their services. An event has an owner
/// only where it signals such an end.
bool is_for_an_end(const ThreadWait& wait) { return facts_of(wait.kind).is_for_an_end || is_event(wait); }

/// The number of threads blocked by this one whose wait, or the wait of a thread that they are blocked by, is for more
/// than the end of a task or thread.
std::uint32_t held_up_by_more(const WaitGraph& graph, std::uint32_t node) {
  std::vector<bool> seen(graph.size()), counted(graph.size());
  std::uint32_t count = 0;
  for (const std::uint32_t n : graph.behind(node))
    if (const auto& wait = graph.thread(n).wait; wait && !is_for_an_end(*wait)) counted[n] = true;
  for (std::uint32_t n = 0; n < graph.size(); n++)
    if (counted[n])
      for (const std::uint32_t behind : graph.behind(n)) seen[behind] = true;
  for (std::uint32_t n = 0; n < graph.size(); n++)
    if (n != node && (counted[n] || seen[n])) count++;
  return count;
}

/// A cycle through any one owner does not resolve itself: a writer waits for each reader, a join or a wait for all of
/// several tasks for each thread that has to end.
Verdict deadlock(const WaitGraph& graph, const std::vector<std::uint32_t>& cycle) {
  Verdict verdict;
  verdict.kind = VerdictKind::deadlock;
  verdict.is_certain = true;
  for (std::size_t i = 0; i < cycle.size(); i++) {
    const std::uint32_t next = cycle[(i + 1) % cycle.size()];
    const WaitGraph::Edge* edge = edge_to(graph, cycle[i], next);
    if (edge == nullptr || !edge->is_sure) verdict.is_certain = false;
    verdict.steps.push_back({graph.thread(cycle[i]).tid, graph.thread(next).tid});
  }
  // Each thread of the cycle blocks itself, the others of it, and all that wait behind them.
  verdict.threads = held_up(graph, cycle.front()) + 1;
  return verdict;
}

bool is_likely(const WaitGraph& graph, const VerdictStep& step) {
  const WaitGraph::Edge* edge = edge_to(graph, graph.node(step.thread), graph.node(step.waits_for));
  return edge == nullptr || edge->is_likely;
}

/// The longest path of waiting threads that leads to `end`, innermost waiter first.
std::vector<VerdictStep> way_to(const WaitGraph& graph, std::uint32_t end) {
  std::vector<VerdictStep> steps;
  std::vector<bool> seen(graph.size());
  seen[end] = true;
  std::uint32_t at = end;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::uint32_t i = 0; i < graph.size(); i++) {
      if (seen[i] || edge_to(graph, i, at) == nullptr) continue;
      steps.insert(steps.begin(), {graph.thread(i).tid, graph.thread(at).tid});
      seen[i] = true;
      at = i;
      goes_on = true;
      break;
    }
  }
  steps.push_back({graph.thread(end).tid, 0});
  return steps;
}

void add_suspensions(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.suspension || runtime.suspension->waits_for.empty()) continue;
    Verdict verdict;
    verdict.kind = VerdictKind::stuck_suspension;
    verdict.steps.push_back({runtime.suspension->by, runtime.suspension->waits_for.front()});
    for (const ThreadId tid : runtime.suspension->waits_for) verdict.steps.push_back({tid, 0});
    // One look cannot tell a suspension that takes a moment from one that never ends.
    verdict.is_certain = false;
    verdict.threads = static_cast<std::uint32_t>(dump.threads.size());
    verdicts.push_back(std::move(verdict));
  }
}

/// Thread names are the runtime's (finalizerthread.cpp). It runs a finalizer where it has managed frames: without work
/// it waits in native code. Whether what it waits for ever comes, only a second look tells.
void add_blocked_finalizer(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const ThreadDump& thread : dump.threads) {
    const auto& frames = thread.trace.frames;
    const bool runs =
        std::any_of(frames.begin(), frames.end(), [](const Frame& f) { return f.kind == FrameKind::managed; });
    if (!thread.comm.starts_with(".NET Finalizer") || !runs || !thread.wait) continue;
    Verdict verdict;
    verdict.kind = VerdictKind::blocked_finalizer;
    verdict.threads = 1;
    const auto& owners = thread.wait->owners;
    verdict.steps.push_back({thread.tid, owners.empty() ? 0 : owners.front()});
    if (!owners.empty()) verdict.steps.push_back({owners.front(), 0});
    verdicts.push_back(std::move(verdict));
  }
}

/// One verdict for each lock whose owner has ended, with the threads that wait for it.
void add_orphaned_locks(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  std::map<Address, Verdict> by_lock;
  for (const ThreadDump& thread : dump.threads) {
    if (!thread.wait || !thread.wait->owner_has_ended) continue;
    Verdict& verdict = by_lock.try_emplace(thread.wait->object.address).first->second;
    if (verdict.steps.empty()) {
      verdict.kind = VerdictKind::orphaned_lock;
      verdict.is_certain = true;
    }
    if (thread.wait->proof == Proof::likely || thread.wait->timeout || thread.wait->gives_up)
      verdict.is_certain = false;
    verdict.steps.push_back({thread.tid, 0});
    verdict.threads++;
  }
  for (auto& [lock, verdict] : by_lock) verdicts.push_back(std::move(verdict));
}

bool times_out(const ProcessDump& dump, const VerdictStep& step) {
  const auto is_it = [&](const ThreadDump& t) { return t.tid == step.thread; };
  const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
  if (at != dump.threads.end() && at->wait && (at->wait->timeout || at->wait->gives_up)) return true;
  const auto gives_up = [&](const AsyncChain& c) { return c.waiter == step.thread && c.gives_up; };
  return std::any_of(dump.runtimes.begin(), dump.runtimes.end(), [&](const RuntimeSummary& r) {
    return r.pending && std::any_of(r.pending->chains.begin(), r.pending->chains.end(), gives_up);
  });
}

/// A cycle comes apart where one of its waits ends; a lock without an owner goes on to hold up those that wait for
/// ever.
void mark_time_outs(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  const auto does = [&](const VerdictStep& s) { return times_out(dump, s); };
  for (Verdict& v : verdicts) {
    if (v.kind == VerdictKind::deadlock) v.may_time_out = std::any_of(v.steps.begin(), v.steps.end(), does);
    if (v.kind == VerdictKind::orphaned_lock) v.may_time_out = std::all_of(v.steps.begin(), v.steps.end(), does);
  }
}

void sort(std::vector<Verdict>& verdicts) {
  const auto rank = [](const Verdict& v) { return std::pair(!v.is_certain, static_cast<int>(v.kind)); };
  std::stable_sort(verdicts.begin(), verdicts.end(), [&](const Verdict& a, const Verdict& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.threads > b.threads;
  });
}

}  // namespace

std::vector<Verdict> judge(const ProcessDump& dump) {
  const WaitGraph graph(dump);
  std::vector<Verdict> verdicts;
  std::vector<bool> is_in_cycle(graph.size());
  for (const auto& cycle : graph.cycles()) {
    verdicts.push_back(deadlock(graph, cycle));
    for (const std::uint32_t n : cycle) is_in_cycle[n] = true;
  }
  add_async_cycles(dump, verdicts);
  add_await_cycles(dump, verdicts);
  add_starvation(dump, verdicts);
  add_suspensions(dump, verdicts);
  add_blocked_finalizer(dump, verdicts);
  add_orphaned_locks(dump, verdicts);
  add_processes(dump, verdicts);
  for (std::uint32_t i = 0; i < graph.size(); i++) {
    if (!graph.edges(i).empty() || is_in_cycle[i]) continue;
    const std::uint32_t waiting = held_up(graph, i);
    if (waiting < kManyWaiters || held_up_by_more(graph, i) < kManyWaiters) continue;
    Verdict verdict;
    verdict.kind = VerdictKind::chain;
    verdict.steps = way_to(graph, i);
    verdict.threads = waiting;
    verdict.is_certain = true;
    for (std::size_t s = 0; s + 1 < verdict.steps.size(); s++)
      if (is_likely(graph, verdict.steps[s])) verdict.is_certain = false;
    verdicts.push_back(std::move(verdict));
  }
  mark_time_outs(dump, verdicts);
  sort(verdicts);
  return verdicts;
}

void add_from_heap(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  add_async_cycles(dump, verdicts);
  add_await_cycles(dump, verdicts);
  mark_time_outs(dump, verdicts);
  sort(verdicts);
}

}  // namespace mixstack::why
