#include "features/why/starvation.h"

#include <algorithm>

namespace mixstack::why {
namespace {

constexpr std::size_t kManyWorkers = 4;  // from this number on, one that goes on makes no difference

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

/// Workers that have work, and those of them that cannot go on with it.
struct Workers {
  std::vector<ThreadId> blocked, going_on;
};

Workers workers_of(const ProcessDump& dump, const ThreadPool& pool) {
  Workers workers;
  for (const ThreadId tid : pool.busy)
    (is_blocked(find(dump, tid)) ? workers.blocked : workers.going_on).push_back(tid);
  return workers;
}

/// A pool that grows out of its starvation usually has a newborn worker that has not reached its first wait: one, or
/// some of many. A core does not show for how long the pool is starved: there all must be blocked.
std::int64_t most_newborn(const ThreadPool& pool) {
  constexpr std::int32_t kOneOf = 16;
  return pool.since_dequeue ? 1 + pool.existing / kOneOf : 0;
}

/// All workers have work and none of them can go on with it, except newborn ones.
bool is_stuck(const ThreadPool& pool, const Workers& workers) {
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  if (pool.queued == 0 || workers.blocked.empty() || pool.existing > pool.processing) return false;
  // A worker on its way to its first item has work, and waits as idle ones do.
  if (count(pool.idle) + count(pool.busy) > std::max<std::int64_t>(pool.processing, count(pool.busy))) return false;
  const std::int64_t others = std::max<std::int64_t>(pool.processing, count(pool.busy)) - count(workers.blocked);
  return others == 0 || (others <= most_newborn(pool) && count(workers.blocked) > others);
}

/// Nothing was taken for a while, or timers are late that a worker would have run.
bool is_long(const ProcessDump& dump, const PendingWork& pending, const Workers& workers) {
  constexpr std::chrono::milliseconds kLate{1000};
  const ThreadPool& pool = *pending.pool;
  if (pool.since_dequeue && *pool.since_dequeue >= kLongSinceDequeue) return true;
  if (pool.since_dequeue) return pending.timers && pending.timers->next_due && *pending.timers->next_due <= -kLate;
  return std::all_of(workers.blocked.begin(), workers.blocked.end(),
                     [&](ThreadId tid) { return find(dump, tid)->wait.has_value(); });
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
    // A wait for any of several tasks may be ended by another one.
    if (thread == nullptr || !thread->wait || thread->wait->proof == Proof::likely || thread->wait->timeout ||
        thread->wait->kind == WaitKind::any_task)
      continue;
    const auto is_it = [&](const VerdictStep& s) { return s.thread == chain.waiter; };
    if (std::none_of(steps.begin(), steps.end(), is_it)) steps.push_back({chain.waiter, 0});
  }
  return steps;
}

const PendingWork* with_pool(const ProcessDump& dump) {
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (runtime.pending && runtime.pending->pool) return &*runtime.pending;
  return nullptr;
}

}  // namespace

std::vector<ThreadId> blocked_workers(const ProcessDump& dump, const ThreadPool& pool) {
  return workers_of(dump, pool).blocked;
}

bool is_starved_for_long(const ProcessDump& dump) {
  const PendingWork* pending = with_pool(dump);
  return pending != nullptr && is_long(dump, *pending, workers_of(dump, *pending->pool));
}

std::size_t workers_that_stand(std::size_t workers) {
  return workers < kManyWorkers ? workers : workers - 1 - workers / 16;
}

// The pool adds three to six a second (PortableThreadPool.GateThread), and one look may be 2 s after the other.
std::size_t most_workers_after(std::size_t workers) { return workers + workers / 2 + 16; }

bool has_a_worker_that_goes_on(const ProcessDump& first, const ProcessDump& second) {
  // A newborn one that waits for a processor has used hardly any.
  constexpr std::chrono::milliseconds kNewborn{50};
  const PendingWork *before = with_pool(first), *now = with_pool(second);
  if (before == nullptr || now == nullptr) return false;
  const std::vector<ThreadId> then = workers_of(first, *before->pool).going_on;
  const std::vector<ThreadId> still = workers_of(second, *now->pool).going_on;
  return std::any_of(still.begin(), still.end(), [&](ThreadId tid) {
    if (std::find(then.begin(), then.end(), tid) == then.end()) return false;
    const ThreadDump* thread = find(second, tid);
    return thread == nullptr || !thread->facts.cpu || *thread->facts.cpu > kNewborn;
  });
}

void add_starvation(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending || !runtime.pending->pool) continue;
    const ThreadPool& pool = *runtime.pending->pool;
    const Workers workers = workers_of(dump, pool);
    if (!is_stuck(pool, workers)) continue;
    Verdict verdict;
    verdict.kind = VerdictKind::starved_pool;
    verdict.threads = static_cast<std::uint32_t>(workers.blocked.size());
    verdict.steps = behind_the_queue(dump, *runtime.pending);
    verdict.is_certain = !verdict.steps.empty();
    if (!verdict.is_certain) {
      const bool is_alone = !pool.since_dequeue && !is_long(dump, *runtime.pending, workers);
      // Among few workers that take turns, each look finds one running.
      const bool are_few = workers.blocked.size() < kManyWorkers && workers.blocked.size() < pool.busy.size();
      if (is_alone || are_few || adds_workers_enough(pool)) continue;
      for (const ThreadId worker : workers.blocked) verdict.steps.push_back({worker, 0});
    }
    verdicts.push_back(std::move(verdict));
  }
}

}  // namespace mixstack::why
