#include "features/why/lasting.h"

#include <algorithm>
#include <set>

#include "features/why/await_cycles.h"
#include "features/why/judge.h"
#include "features/why/processes.h"
#include "features/why/starvation.h"
#include "features/why/wait_graph.h"

namespace mixstack::why {
namespace {

/// Our own stop makes a thread run for some microseconds; a thread whose wait has ended runs longer.
constexpr std::chrono::nanoseconds kOurStop = std::chrono::microseconds(300);

const ThreadDump* find(const ProcessDump& dump, ThreadId tid) {
  const auto is_it = [tid](const ThreadDump& t) { return t.tid == tid; };
  const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
  return at == dump.threads.end() ? nullptr : &*at;
}

/// Whether a thread waits for what it waited for, and has hardly run.
bool stands(const ProcessDump& first, const ProcessDump& second, ThreadId tid) {
  const ThreadDump *a = find(first, tid), *b = find(second, tid);
  if (a == nullptr || b == nullptr || !a->wait || !b->wait || !a->facts.cpu || !b->facts.cpu) return false;
  return a->wait->kind == b->wait->kind && a->wait->object.address == b->wait->object.address &&
         a->wait->owners == b->wait->owners && *b->facts.cpu - *a->facts.cpu <= kOurStop;
}

/// The innermost managed frame of a thread, or null.
const Frame* managed_frame(const ProcessDump& dump, ThreadId tid) {
  const ThreadDump* thread = find(dump, tid);
  if (thread == nullptr) return nullptr;
  const auto& frames = thread->trace.frames;
  const auto at =
      std::find_if(frames.begin(), frames.end(), [](const Frame& f) { return f.kind == FrameKind::managed; });
  return at == frames.end() ? nullptr : &*at;
}

/// Whether that frame is where it was: the thread has not come back from what it called.
bool is_in_the_same_call(const ProcessDump& first, const ProcessDump& second, ThreadId tid) {
  const Frame *a = managed_frame(first, tid), *b = managed_frame(second, tid);
  return a != nullptr && b != nullptr && a->pc == b->pc && a->sp == b->sp;
}

/// Likewise, and it has hardly run.
bool waits_in_the_same_call(const ProcessDump& first, const ProcessDump& second, ThreadId tid) {
  const ThreadDump *a = find(first, tid), *b = find(second, tid);
  if (a == nullptr || b == nullptr || a->wait || b->wait || !a->facts.cpu || !b->facts.cpu) return false;
  return *b->facts.cpu - *a->facts.cpu <= kOurStop && is_in_the_same_call(first, second, tid);
}

/// While a suspension lasts, only threads that delay it run managed code: the innermost managed frames of all others
/// stay where they are. If one moved, the suspensions of the two looks are not the same.
bool no_managed_code_ran(const ProcessDump& first, const ProcessDump& second, const std::set<ThreadId>& but) {
  return std::all_of(second.threads.begin(), second.threads.end(), [&](const ThreadDump& t) {
    return but.contains(t.tid) || managed_frame(first, t.tid) == nullptr || managed_frame(second, t.tid) == nullptr ||
           is_in_the_same_call(first, second, t.tid);
  });
}

/// Whether a cycle that comes apart by itself is the same one: each of its threads waits for the same object.
bool waits_for_the_same(const ProcessDump& first, const ProcessDump& second, const Verdict& verdict) {
  const auto ends_by_time = [&](const VerdictStep& s) {
    const ThreadDump* t = find(second, s.thread);
    return t != nullptr && t->wait && (t->wait->timeout || t->wait->gives_up);
  };
  if (std::none_of(verdict.steps.begin(), verdict.steps.end(), ends_by_time)) return true;
  return std::all_of(verdict.steps.begin(), verdict.steps.end(), [&](const VerdictStep& s) {
    const ThreadDump *a = find(first, s.thread), *b = find(second, s.thread);
    return a != nullptr && b != nullptr && a->wait && b->wait && a->wait->object.address == b->wait->object.address;
  });
}

std::set<ThreadId> threads_of(const Verdict& verdict) {
  std::set<ThreadId> threads;
  for (const VerdictStep& s : verdict.steps) threads.insert(s.thread);
  return threads;
}

/// Whether a verdict of the second look says what one of the first did.
bool is_same(const ProcessDump& first, const Verdict& a, const ProcessDump& second, const Verdict& b) {
  if (a.kind == VerdictKind::await_cycle) return are_same_await_cycles(a, b);
  if (a.kind != b.kind || a.steps.empty() || b.steps.empty()) return false;
  switch (a.kind) {
    case VerdictKind::deadlock:
      // A thread that has just got a mutex looks like one that waits for itself, and async methods are many: whether it
      // is the same wait, what it waits for tells.
      return threads_of(a) == threads_of(b) && waits_for_the_same(first, second, b) &&
             (b.steps.size() != 1 || stands(first, second, b.steps[0].thread));
    case VerdictKind::starved_pool: {
      const auto before = threads_of(a);
      const auto still = [&](const VerdictStep& s) {
        return before.contains(s.thread) &&
               (stands(first, second, s.thread) || waits_in_the_same_call(first, second, s.thread));
      };
      if (has_a_worker_that_goes_on(first, second)) return false;
      // A worker that still waits for queued work proves it. Without such proof all workers must have stood still,
      // except newborn ones.
      if (b.is_certain) return std::any_of(b.steps.begin(), b.steps.end(), still);
      const auto standing = static_cast<std::size_t>(std::count_if(b.steps.begin(), b.steps.end(), still));
      return standing >= workers_that_stand(a.steps.size()) && b.steps.size() <= most_workers_after(a.steps.size());
    }
    case VerdictKind::stuck_suspension:
      return a.steps[0].thread == b.steps[0].thread && a.steps[0].waits_for == b.steps[0].waits_for &&
             is_in_the_same_call(first, second, b.steps[0].waits_for) &&
             no_managed_code_ran(first, second, threads_of(b));
    case VerdictKind::blocked_finalizer:
      return a.steps[0].thread == b.steps[0].thread && stands(first, second, b.steps[0].thread);
    case VerdictKind::orphaned_lock: {
      const auto before = threads_of(a);
      return std::any_of(b.steps.begin(), b.steps.end(), [&](const VerdictStep& s) {
        return before.contains(s.thread) && stands(first, second, s.thread);
      });
    }
    case VerdictKind::process_cycle:
    case VerdictKind::stopped_process:
      return a.steps[0].thread == b.steps[0].thread && stands(first, second, b.steps[0].thread) &&
             are_same_processes(*find(first, a.steps[0].thread)->wait, *find(second, b.steps[0].thread)->wait);
    case VerdictKind::await_cycle:
    case VerdictKind::chain:
      break;
  }
  return a.steps.back().thread == b.steps.back().thread &&
         std::all_of(b.steps.begin(), b.steps.end() - 1,
                     [&](const VerdictStep& s) { return stands(first, second, s.thread); });
}

/// Whether the same thread holds up enough others that have neither run nor got on between the looks.
bool still_holds_up(const ProcessDump& first, const Verdict& a, const ProcessDump& second, const Verdict& b,
                    std::span<const ThreadId> at_rest) {
  if (a.kind != VerdictKind::chain || a.steps.empty() || b.steps.empty()) return false;
  if (a.steps.back().thread != b.steps.back().thread) return false;
  const std::set<ThreadId> rest(at_rest.begin(), at_rest.end());
  const auto waiters = must_rest(second, b);
  const auto still = std::count_if(waiters.begin(), waiters.end(),
                                   [&](ThreadId tid) { return rest.contains(tid) && stands(first, second, tid); });
  return still >= std::ptrdiff_t{kManyWaiters};
}

/// Verdicts about one thread, which healthy programs have for a moment, too.
bool waits_alone(const Verdict& v) {
  return v.kind == VerdictKind::blocked_finalizer || v.kind == VerdictKind::process_cycle ||
         v.kind == VerdictKind::stopped_process;
}

}  // namespace

std::vector<ThreadId> must_rest(const ProcessDump& dump, const Verdict& verdict) {
  if (verdict.steps.empty()) return {};
  if (waits_alone(verdict)) return {verdict.steps[0].thread};
  if (verdict.kind == VerdictKind::starved_pool && !verdict.is_certain && !is_starved_for_long(dump)) {
    std::vector<ThreadId> workers;
    for (const VerdictStep& s : verdict.steps) workers.push_back(s.thread);
    return workers;
  }
  if (verdict.kind != VerdictKind::chain || find(dump, verdict.steps.back().thread) == nullptr) return {};
  const WaitGraph graph(dump);
  std::vector<ThreadId> threads;
  for (const std::uint32_t node : graph.behind(graph.node(verdict.steps.back().thread)))
    threads.push_back(graph.thread(node).tid);
  return threads;
}

bool has_another_owner(const ProcessDump& later, const Verdict& chain) {
  if (chain.kind != VerdictKind::chain || chain.steps.size() < 2) return false;
  const ThreadDump* waiter = find(later, chain.steps[chain.steps.size() - 2].thread);
  if (waiter == nullptr || !waiter->wait) return false;
  const std::vector<std::uint32_t>& owners = waiter->wait->owners;
  return !owners.empty() && std::find(owners.begin(), owners.end(), chain.steps.back().thread) == owners.end();
}

std::vector<Verdict> lasting(const ProcessDump& first, std::span<const Verdict> before, const ProcessDump& second,
                             std::span<const Verdict> now, std::span<const ThreadId> at_rest) {
  std::vector<Verdict> kept;
  const auto may_have_got_on = [&](const Verdict& v) {
    return waits_alone(v) &&
           (v.steps.empty() || std::find(at_rest.begin(), at_rest.end(), v.steps[0].thread) == at_rest.end());
  };
  // The first look's workers count: a starved pool has some more at each look.
  const auto has_not_rested = [&](const Verdict& v) {
    if (v.kind != VerdictKind::starved_pool || v.is_certain || is_starved_for_long(second)) return false;
    const auto was = std::find_if(before.begin(), before.end(), [&](const Verdict& a) { return a.kind == v.kind; });
    if (was == before.end()) return true;
    const std::set<ThreadId> rest(at_rest.begin(), at_rest.end());
    const auto resting = std::count_if(was->steps.begin(), was->steps.end(),
                                       [&](const VerdictStep& s) { return rest.contains(s.thread); });
    return static_cast<std::size_t>(resting) < workers_that_stand(was->steps.size());
  };
  for (const Verdict& b : now) {
    const auto was = [&](const Verdict& a) {
      return b.kind == VerdictKind::chain ? still_holds_up(first, a, second, b, at_rest) : is_same(first, a, second, b);
    };
    if (!may_have_got_on(b) && !has_not_rested(b) && std::any_of(before.begin(), before.end(), was)) kept.push_back(b);
  }
  return kept;
}

std::vector<Verdict> proved_starvation(const ProcessDump& first, const ProcessDump& second) {
  constexpr std::uint32_t kLeastWorkers = 4;
  const auto starvation_of = [](const ProcessDump& dump) {
    std::vector<Verdict> verdicts;
    add_starvation(dump, verdicts);
    std::erase_if(verdicts, [](const Verdict& v) { return !v.is_certain || v.threads < kLeastWorkers; });
    return verdicts;
  };
  const auto queued = [](const ProcessDump& dump) {
    std::uint64_t all = 0;
    for (const RuntimeSummary& r : dump.runtimes)
      if (r.pending && r.pending->pool) all += r.pending->pool->queued;
    return all;
  };
  if (queued(second) < queued(first)) return {};
  return lasting(first, starvation_of(first), second, starvation_of(second), {});
}

Unmoved unmoved(const ProcessDump& first, std::span<const Verdict> before, const ProcessDump& second,
                std::span<const Verdict> now) {
  Unmoved told;
  for (const ThreadDump& t : second.threads) {
    const ThreadDump* then = find(first, t.tid);
    if (stands(first, second, t.tid))
      told.threads.push_back(t.tid);
    else if (t.wait || (then != nullptr && then->wait))
      told.moved++;
  }
  for (const Verdict& b : now)
    told.verdicts.push_back(
        std::any_of(before.begin(), before.end(), [&](const Verdict& a) { return is_same(first, a, second, b); }));
  return told;
}

}  // namespace mixstack::why
