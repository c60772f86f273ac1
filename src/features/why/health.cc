#include "features/why/health.h"

#include <algorithm>
#include <map>
#include <set>

#include "features/why/contention.h"
#include "process/live/call_looks.h"

namespace mixstack::why {
namespace {

std::optional<std::uint64_t> exceptions_of(const RuntimeCounters& r) { return r.exceptions; }
std::optional<std::uint64_t> methods_of(const RuntimeCounters& r) { return r.methods; }
std::optional<std::uint64_t> contentions_of(const RuntimeCounters& r) { return r.contentions; }
std::optional<std::uint64_t> compiling_of(const RuntimeCounters& r) {
  return r.compiling ? std::optional(static_cast<std::uint64_t>(r.compiling->count())) : std::nullopt;
}

std::optional<std::uint64_t> queued_of(const ProcessDump& dump) {
  std::optional<std::uint64_t> queued;
  for (const RuntimeSummary& r : dump.runtimes)
    if (r.pending && r.pending->pool) queued = queued.value_or(0) + r.pending->pool->queued;
  return queued;
}

/// Threads that wait for the semaphore that most wait for.
std::uint32_t most_at_one_semaphore(const ProcessDump& dump) {
  std::map<Address, std::uint32_t> waiters;
  std::uint32_t most = 0;
  for (const ThreadDump& t : dump.threads)
    if (t.wait && t.wait->kind == WaitKind::semaphore_slim && t.wait->object.address != 0)
      most = std::max(most, ++waiters[t.wait->object.address]);
  return most;
}

}  // namespace

std::optional<double> allocated_between(const Counters& before, const Counters& after, double seconds) {
  std::map<std::uint64_t, std::uint64_t> then;
  bool is_known = false;
  for (const RuntimeCounters& r : before.runtimes)
    for (const AllocatedBytes& t : r.threads) then[t.thread] = t.small + t.large;
  std::uint64_t bytes = 0;
  for (const RuntimeCounters& r : after.runtimes)
    for (const AllocatedBytes& t : r.threads) {
      is_known = true;
      const auto at = then.find(t.thread);
      const std::uint64_t was = at == then.end() ? 0 : at->second;
      if (t.small + t.large > was) bytes += t.small + t.large - was;
    }
  if (!is_known || seconds <= 0) return std::nullopt;
  return static_cast<double>(bytes) / seconds;
}

std::optional<double> rate(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after,
                           double seconds) {
  const auto gained = gain(before, after);
  if (!gained || seconds <= 0) return std::nullopt;
  return static_cast<double>(*gained) / seconds;
}

std::optional<std::uint64_t> sum_of(const Counters& counters,
                                    std::optional<std::uint64_t> (*get)(const RuntimeCounters&)) {
  std::optional<std::uint64_t> sum;
  for (const RuntimeCounters& r : counters.runtimes) {
    const auto value = get(r);
    if (!value) return std::nullopt;
    sum = sum.value_or(0) + *value;
  }
  return sum;
}

std::optional<std::uint64_t> collections_of(const Counters& counters, std::size_t generation) {
  std::optional<std::uint64_t> sum;
  for (const RuntimeCounters& r : counters.runtimes) {
    if (r.generations.size() <= generation) return std::nullopt;
    sum = sum.value_or(0) + r.generations[generation].collections;
  }
  return sum;
}

std::optional<std::uint64_t> pauses_of(const Counters& counters) {
  return sum_of(counters, [](const RuntimeCounters& r) {
    return r.pauses ? std::optional(static_cast<std::uint64_t>(r.pauses->count())) : std::nullopt;
  });
}

std::optional<double> ready_between(const Counters& before, const Counters& after) {
  const double seconds = seconds_between(before, after);
  std::map<std::uint32_t, std::chrono::nanoseconds> then;
  for (const ThreadCounters& t : before.kernel.threads)
    if (t.waiting) then[t.tid] = *t.waiting;
  std::chrono::nanoseconds waited{0};
  bool is_known = false;
  for (const ThreadCounters& t : after.kernel.threads) {
    if (!t.waiting) continue;
    is_known = true;
    const auto at = then.find(t.tid);
    const auto was = at == then.end() ? std::chrono::nanoseconds{0} : at->second;
    waited += std::max(*t.waiting - was, std::chrono::nanoseconds{0});
  }
  if (!is_known || seconds <= 0) return std::nullopt;
  return std::chrono::duration<double>(waited).count() / seconds;
}

std::optional<double> processors_between(const Counters& before, const Counters& after) {
  const KernelCounters &then = before.kernel, &now = after.kernel;
  const double seconds = seconds_between(before, after);
  std::chrono::nanoseconds cpu{0};
  bool is_known = false;
  std::map<std::uint32_t, std::chrono::nanoseconds> clocks;
  for (const ThreadCounters& t : then.threads)
    if (t.cpu) clocks[t.tid] = *t.cpu;
  for (const ThreadCounters& t : now.threads) {
    if (!t.cpu) continue;
    is_known = true;
    cpu += *t.cpu - (clocks.contains(t.tid) ? clocks[t.tid] : std::chrono::nanoseconds{0});
  }
  // Threads that have ended are in the process's own times, which count in ticks of 10 ms.
  if (then.user && now.user && then.system && now.system)
    cpu = std::max(cpu, *now.user - *then.user + *now.system - *then.system - std::chrono::milliseconds(20));
  if (!is_known || seconds <= 0) return std::nullopt;
  return std::max(std::chrono::duration<double>(cpu).count() / seconds, 0.0);
}

bool stands_still(const Counters& before, const Counters& after) {
  constexpr double kStill = 0.01;           // processors
  constexpr std::uint64_t kFewFaults = 16;  // of pages
  const KernelCounters &then = before.kernel, &now = after.kernel;
  const double seconds = seconds_between(before, after);
  const auto stays = [](const std::optional<std::uint64_t>& a, const std::optional<std::uint64_t>& b) {
    return a && b && *a == *b;
  };
  const auto hardly = [&](const std::optional<double>& value) { return value && *value < kStill; };
  const auto allocated = allocated_between(before, after, seconds);
  return hardly(processors_between(before, after)) && hardly(ready_between(before, after)) && allocated &&
         *allocated == 0 && then.minor_faults && now.minor_faults &&
         *now.minor_faults - *then.minor_faults < kFewFaults && stays(then.children_faults, now.children_faults) &&
         stays(sum_of(before, exceptions_of), sum_of(after, exceptions_of)) &&
         stays(sum_of(before, methods_of), sum_of(after, methods_of)) &&
         stays(collections_of(before, 0), collections_of(after, 0)) && stays(then.writes, now.writes);
}

bool was_quiet(const Counters& now, std::chrono::nanoseconds uptime) {
  constexpr double kQuiet = 0.03, kFewExceptions = 5, kFewCollections = 0.2;  // processors; a second
  constexpr std::chrono::seconds kLeastUptime{2};
  const double seconds = std::chrono::duration<double>(uptime).count();
  const auto exceptions = sum_of(now, exceptions_of), collections = collections_of(now, 0);
  if (uptime < kLeastUptime || !now.kernel.user || !now.kernel.system || !exceptions || !collections) return false;
  const double used = std::chrono::duration<double>(*now.kernel.user + *now.kernel.system).count();
  return used < kQuiet * seconds && static_cast<double>(*exceptions) < kFewExceptions * seconds &&
         static_cast<double>(*collections) < kFewCollections * seconds && now.kernel.children_faults.value_or(1) == 0;
}

Health health_of(const Counters& before, const Counters& after, const ProcessDump& dump) {
  Health health;
  const double seconds = seconds_between(before, after);
  health.time = after.at - before.at;
  std::set<ThreadId> waiters;
  for (const ThreadDump& t : dump.threads)
    // A semaphore of the system has no owner: waiting for it may be waiting for work.
    if (t.wait && is_lock(*t.wait) && (t.wait->kind != WaitKind::wait_handle || !t.wait->owners.empty()))
      waiters.insert(t.tid);
  health.lock_waiters = static_cast<std::uint32_t>(waiters.size());
  health.semaphore_waiters = most_at_one_semaphore(dump);
  health.all_semaphore_waiters =
      static_cast<std::uint32_t>(std::count_if(dump.threads.begin(), dump.threads.end(), [](const ThreadDump& t) {
        return t.wait && t.wait->kind == WaitKind::semaphore_slim;
      }));
  health.queued = queued_of(dump);
  health.has_more_queued = std::any_of(dump.runtimes.begin(), dump.runtimes.end(), [](const RuntimeSummary& r) {
    return r.pending && r.pending->pool && r.pending->pool->has_more;
  });
  health.all_methods = sum_of(after, methods_of);
  if (const auto time = sum_of(after, compiling_of))
    health.all_compiling = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::nanoseconds(static_cast<std::int64_t>(*time)));
  if (health.time < kLeastBetween && !stands_still(before, after)) return health;
  health.processors = processors_between(before, after);
  health.ready = ready_between(before, after);
  health.collections = rate(collections_of(before, 0), collections_of(after, 0), seconds);
  health.full_collections = rate(collections_of(before, 2), collections_of(after, 2), seconds);
  if (const auto pause = rate(pauses_of(before), pauses_of(after), seconds)) {
    health.pause_share = std::min(*pause / 1e6, 1.0);
    if (health.collections && *health.collections > 0) health.pause_ms = *pause / *health.collections / 1e3;
  }
  health.allocated = allocated_between(before, after, seconds);
  health.exceptions = rate(sum_of(before, exceptions_of), sum_of(after, exceptions_of), seconds);
  health.methods = rate(sum_of(before, methods_of), sum_of(after, methods_of), seconds);
  health.contentions = rate(sum_of(before, contentions_of), sum_of(after, contentions_of), seconds);
  if (const auto time = rate(sum_of(before, compiling_of), sum_of(after, compiling_of), seconds))
    health.compiling = *time / 1e9;
  return health;
}

bool throws_often(const Counters& before, const Counters& after) {
  const auto thrown = rate(sum_of(before, exceptions_of), sum_of(after, exceptions_of), seconds_between(before, after));
  return thrown && *thrown >= kManyExceptions;
}

bool spends(const Counters& before, const Counters& after) {
  const double seconds = seconds_between(before, after);
  const KernelCounters &then = before.kernel, &now = after.kernel;
  const auto is_above = [](const std::optional<double>& value, double limit) { return value && *value >= limit; };
  const auto children = [](const KernelCounters& k) {
    return k.children_faults ? k.children_faults : std::optional<std::uint64_t>();
  };
  // A thread may sleep between its calls at each look, and still have used a processor, or waited for one.
  const double wanted = processors_between(before, after).value_or(0) + ready_between(before, after).value_or(0);
  return wanted >= 0.3 || is_above(rate(sum_of(before, exceptions_of), sum_of(after, exceptions_of), seconds), 20) ||
         is_above(rate(sum_of(before, methods_of), sum_of(after, methods_of), seconds), 100) ||
         is_above(rate(pauses_of(before), pauses_of(after), seconds), 20'000) ||
         is_above(rate(then.writes, now.writes, seconds), 500) ||
         is_above(rate(then.minor_faults, now.minor_faults, seconds), 1000) ||
         is_above(rate(children(then), children(now), seconds), 1) ||
         is_above(rate(then.rss_anon, now.rss_anon, seconds), 500'000);
}

bool waits_for_a_disk(const ProcessDump& dump) {
  return std::any_of(dump.threads.begin(), dump.threads.end(), [](const ThreadDump& t) {
    const process::DiskCall call = process::disk_call_of(t.syscall);
    return t.kernel_state == 'D' || call == process::DiskCall::sync || call == process::DiskCall::truncate;
  });
}

}  // namespace mixstack::why
