#include "features/why/async_cycles.h"

#include <algorithm>

#include "features/why/waits_for_any.h"

namespace mixstack::why {
namespace {

/// Whether only the thread that waits may run what it waits for.
bool is_its_own_to_run(const PendingWork& pending, const AsyncChain& chain) {
  const bool has_ended_inside = chain.end == AsyncEnd::completed || chain.end == AsyncEnd::yielded;
  const bool is_posted = !chain.steps.empty() && has_ended_inside && !chain.context.empty();
  return chain.waiter != 0 && (is_posted || !chain.scheduler.empty()) && chain.runner == 0 && !chain.is_queued &&
         chain.proof != Proof::likely && !(pending.pool && pending.pool->has_more);
}

}  // namespace

void add_async_cycles(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains) {
      if (!is_its_own_to_run(*runtime.pending, chain) || waits_for_any(dump, chain.waiter)) continue;
      const auto is_it = [&](const Verdict& v) {
        return v.kind == VerdictKind::deadlock && v.steps.front().thread == chain.waiter;
      };
      if (std::any_of(verdicts.begin(), verdicts.end(), is_it)) continue;
      verdicts.push_back({VerdictKind::deadlock, false, {{chain.waiter, chain.waiter}}, 1});
    }
  }
}

}  // namespace mixstack::why
