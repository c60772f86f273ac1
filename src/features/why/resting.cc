#include "features/why/resting.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/system/shared_work.h"
#include "features/why/judge.h"
#include "features/why/lasting.h"
#include "features/why/starvation.h"
#include "features/why/thread_clocks.h"
#include "output/report/wait_words.h"
#include "process/live/process_usage.h"

namespace mixstack::why {
namespace {

/// A thread of a cycle that has run since its facts were read may have held what it was found to hold at another time
/// than the others: then the cycle is possible, no more.
bool has_run(const ThreadClocks& clocks, const ThreadDump& thread) {
  if (!thread.facts.cpu) return true;
  const auto cpu = clocks.cpu(thread.tid);
  return !cpu || *cpu != *thread.facts.cpu;
}

}  // namespace

bool has_run(const ProcessDump& dump, const Verdict& verdict) {
  const auto now = process::cpu_of_process(dump.target.pid);
  const auto is_as_it_was = [&](const VerdictStep& s) {
    const ThreadDump* t = report::find_thread(dump, s.thread);
    return t != nullptr && t->facts.process_cpu == now;
  };
  if (now && std::all_of(verdict.steps.begin(), verdict.steps.end(), is_as_it_was)) return false;
  const ThreadClocks clocks(dump.target.pid);
  // A thread that waits for a callback's end polls: it runs all the time, and leaves the loop only when another has
  // run.
  const auto polls = [](const ThreadDump& t) { return t.wait && t.wait->kind == WaitKind::callback; };
  std::atomic<bool> any_has = false;
  base::for_each_of_many(verdict.steps.size(), [&](std::size_t i) {
    if (any_has) return;
    const ThreadDump* t = report::find_thread(dump, verdict.steps[i].thread);
    if (t == nullptr || (!polls(*t) && has_run(clocks, *t))) any_has = true;
  });
  return any_has;
}

namespace {

/// Threads of a verdict that is believed where enough of them have not run at all for a time.
struct Resting {
  std::size_t enough = 1;
  std::chrono::milliseconds time{0};
  std::vector<std::pair<ThreadId, std::optional<std::chrono::nanoseconds>>> threads;  ///< each with its clock
};
using Restings = std::vector<Resting>;

Restings restings_of(const ProcessDump& dump, std::span<const Verdict> verdicts) {
  constexpr std::chrono::milliseconds kOfOne{1000}, kOthers{2000};
  Restings resting;
  for (const Verdict& v : verdicts) {
    const auto threads = must_rest(dump, v);
    if (threads.empty()) continue;
    const bool is_of_one = v.kind == VerdictKind::blocked_finalizer || v.kind == VerdictKind::process_cycle ||
                           v.kind == VerdictKind::stopped_process;
    Resting& r = resting.emplace_back();
    r.enough = is_of_one ? 1 : v.kind == VerdictKind::starved_pool ? workers_that_stand(threads.size()) : kManyWaiters;
    r.time = is_of_one ? kOfOne : kOthers;
    for (const ThreadId tid : threads) r.threads.emplace_back(tid, std::nullopt);
  }
  return resting;
}

/// Waits until the threads are back in their waits after our stop, and notes their clocks. On a busy machine that may
/// take some time, and some never are.
void settle(const ThreadClocks& clocks, Restings& resting) {
  constexpr std::chrono::milliseconds kPiece{20}, kMost{500};
  bool are_settled = false;
  for (std::chrono::milliseconds passed{0}; !are_settled && passed < kMost; passed += kPiece) {
    std::this_thread::sleep_for(kPiece);
    are_settled = true;
    for (Resting& r : resting)
      for (auto& [tid, cpu] : r.threads) {
        const auto now = clocks.cpu(tid);
        if (now != cpu || clocks.is_runnable(tid)) are_settled = false;
        cpu = now;
      }
  }
}

}  // namespace

std::vector<ThreadId> rest(const ProcessDump& dump, std::span<const Verdict> verdicts) {
  constexpr std::chrono::milliseconds kUsually{200};
  Restings resting = restings_of(dump, verdicts);
  if (resting.empty()) {
    std::this_thread::sleep_for(kUsually);
    return {};
  }
  const ThreadClocks clocks(dump.target.pid);
  settle(clocks, resting);
  const auto has_run = [&](const auto& t) {
    return !t.second || clocks.cpu(t.first) != t.second || clocks.is_runnable(t.first);
  };
  const auto longest = [](const Resting& a, const Resting& b) { return a.time < b.time; };
  for (std::chrono::milliseconds passed{0};
       !resting.empty() && passed < std::max_element(resting.begin(), resting.end(), longest)->time;
       passed += kUsually) {
    std::this_thread::sleep_for(kUsually);
    std::erase_if(resting, [&](Resting& r) {
      std::erase_if(r.threads, has_run);
      return r.threads.size() < r.enough;
    });
  }
  std::vector<ThreadId> at_rest;
  for (const Resting& r : resting)
    for (const auto& [tid, cpu] : r.threads) at_rest.push_back(tid);
  return at_rest;
}

}  // namespace mixstack::why
