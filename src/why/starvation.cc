#include "why/starvation.h"

#include <algorithm>

namespace mixstack::why {
namespace {

const ThreadDump* find(const ProcessDump& dump, ThreadId tid) {
  const auto is_it = [tid](const ThreadDump& t) { return t.tid == tid; };
  const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
  return at == dump.threads.end() ? nullptr : &*at;
}

bool is_blocked(const ThreadDump* thread) {
  if (thread == nullptr) return false;
  if (thread->wait) return true;
  return thread->kernel_state == 'S' && !(thread->managed && thread->managed->cooperative);
}

/// All workers have work and none of them can go on with it.
bool is_stuck(const ProcessDump& dump, const ThreadPool& pool) {
  return pool.queued != 0 && pool.idle.empty() && !pool.busy.empty() && pool.existing <= pool.processing &&
         static_cast<std::int64_t>(pool.busy.size()) >= pool.processing &&
         std::all_of(pool.busy.begin(), pool.busy.end(), [&](ThreadId t) { return is_blocked(find(dump, t)); });
}

/// As long as it may have more workers the pool adds one each half second, or sooner: fewer items than it has workers
/// are taken by these in a moment.
bool adds_workers_enough(const ThreadPool& pool) { return pool.existing < pool.max && pool.queued < pool.busy.size(); }

/// Workers that wait for what is queued.
std::vector<VerdictStep> behind_the_queue(const ProcessDump& dump, const PendingWork& pending) {
  std::vector<VerdictStep> steps;
  for (const AsyncChain& chain : pending.chains) {
    if (chain.waiter == 0 || !chain.is_queued || chain.proof == Proof::likely || chain.gives_up) continue;
    const auto& busy = pending.pool->busy;
    if (std::find(busy.begin(), busy.end(), chain.waiter) == busy.end()) continue;
    const ThreadDump* thread = find(dump, chain.waiter);
    // Of a wait for any of several, another one may come.
    if (thread == nullptr || !thread->wait || thread->wait->proof == Proof::likely || thread->wait->timeout ||
        thread->wait->kind == WaitKind::any_task)
      continue;
    const auto is_it = [&](const VerdictStep& s) { return s.thread == chain.waiter; };
    if (std::none_of(steps.begin(), steps.end(), is_it)) steps.push_back({chain.waiter, 0});
  }
  return steps;
}

}  // namespace

void add_starvation(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending || !runtime.pending->pool || !is_stuck(dump, *runtime.pending->pool)) continue;
    const ThreadPool& pool = *runtime.pending->pool;
    Verdict verdict;
    verdict.kind = VerdictKind::starved_pool;
    verdict.threads = static_cast<std::uint32_t>(pool.busy.size());
    verdict.steps = behind_the_queue(dump, *runtime.pending);
    verdict.is_certain = !verdict.steps.empty();
    if (!verdict.is_certain) {
      // How long that has been so nobody can tell of a core.
      const auto waits = [&](ThreadId tid) { return find(dump, tid)->wait.has_value(); };
      const bool is_long = pool.since_dequeue ? *pool.since_dequeue >= kLongSinceDequeue
                                              : std::all_of(pool.busy.begin(), pool.busy.end(), waits);
      if (!is_long || adds_workers_enough(pool)) continue;
      for (const ThreadId worker : pool.busy) verdict.steps.push_back({worker, 0});
    }
    verdicts.push_back(std::move(verdict));
  }
}

}  // namespace mixstack::why
