// One answer of `why`, from an opened session.
//
// Input: a session over a process or a core, and what is wanted. Output: the last look's dump, verdicts, contended
// locks, and samples of what runs where nothing is stuck. Order: look; where a verdict could be a healthy moment let
// time pass, with an eye on the clocks of the threads that must not run meanwhile; look again and keep what lasts;
// search the heap; sample. The heap comes last of the looks: its stop makes threads run that had not run before it.
// Bounds: four tries for each of two looks where threads do not stop in time (25, 50, 100 ms apart); 2 s between looks;
// samples for as long as is wanted. A core is looked at once: nothing changes in it.
#include "mixstack/why.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/system/shared_work.h"
#include "features/record/stack_recorder.h"
#include "features/why/busy_sample.h"
#include "features/why/contention.h"
#include "features/why/judge.h"
#include "features/why/lasting.h"
#include "features/why/starvation.h"
#include "features/why/thread_clocks.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "process/live/process_usage.h"

namespace mixstack {
namespace {

using why::ThreadClocks;

/// A thread of a cycle that has run since its facts were read may have held what it was found to hold at another time
/// than the others: then the cycle is possible, no more.
bool has_run(const ThreadClocks& clocks, const ThreadDump& thread) {
  if (!thread.facts.cpu) return true;
  const auto cpu = clocks.cpu(thread.tid);
  return !cpu || *cpu != *thread.facts.cpu;
}

/// Whether any thread of a verdict has. If the whole process used no processor time, its one clock answers for all.
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

/// Threads of a verdict that is believed where enough of them have not run at all for a time.
struct Resting {
  std::size_t enough = 1;
  std::chrono::milliseconds time{0};
  std::vector<std::pair<ThreadId, std::optional<std::chrono::nanoseconds>>> threads;  ///< each with its clock
};
using Restings = std::vector<Resting>;

Restings must_rest(const WhyAnswer& answer) {
  constexpr std::chrono::milliseconds kOfOne{1000}, kOthers{2000};
  Restings resting;
  for (const Verdict& v : answer.verdicts) {
    const auto threads = why::must_rest(answer.dump, v);
    if (threads.empty()) continue;
    const bool is_of_one = v.kind == VerdictKind::blocked_finalizer || v.kind == VerdictKind::process_cycle ||
                           v.kind == VerdictKind::stopped_process;
    Resting& r = resting.emplace_back();
    r.enough = is_of_one                             ? 1
               : v.kind == VerdictKind::starved_pool ? why::workers_that_stand(threads.size())
                                                     : why::kManyWaiters;
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

/// Lets time pass between two looks: longer where threads must be at rest, as long as enough of them are. Finalizers
/// seldom wait, and then mostly not for long; healthy programs hold a lock for a while, too, in which they fill a cache
/// or ask a database. Returns the threads that have not run at all for that time: they are in the same call of the same
/// method.
std::vector<ThreadId> rest(const WhyAnswer& answer) {
  constexpr std::chrono::milliseconds kUsually{200};
  Restings resting = must_rest(answer);
  if (resting.empty()) {
    std::this_thread::sleep_for(kUsually);
    return {};
  }
  const ThreadClocks clocks(answer.dump.target.pid);
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

DumpOptions dump_options(const WhyOptions& wanted) {
  DumpOptions options;
  options.waits = true;
  options.pending_work = true;
  options.off_cpu = false;
  options.data = wanted.data;
  return options;
}

}  // namespace

bool WhyAnswer::is_whole() const {
  const bool has_all = !dump.target.core_path.empty() || report::threads_apart(dump) == 0;
  return has_all && report::waits_not_known(dump) == 0 && report::knows_waits(dump);
}

Unmoved unmoved(const WhyAnswer& before, const WhyAnswer& now) {
  Unmoved found = why::unmoved(before.dump, before.verdicts, now.dump, now.verdicts);
  found.since = std::chrono::duration_cast<std::chrono::milliseconds>(now.began - before.began);
  return found;
}

struct Why::Implementation {
  std::shared_ptr<record::SharedSession> shared = std::make_shared<record::SharedSession>();

  [[nodiscard]] Session& session() const { return *shared->session; }
  [[nodiscard]] bool is_core() const { return !session().target().info().core_path.empty(); }
  [[nodiscard]] Result<WhyAnswer> look(const WhyOptions& wanted) const;
  [[nodiscard]] Result<WhyAnswer> look_at_all(const WhyOptions& wanted) const;
  [[nodiscard]] Result<WhyAnswer> judge(const WhyOptions& wanted) const;
  [[nodiscard]] Result<void> add_heap(const WhyOptions& wanted, WhyAnswer& answer) const;
  void sample(const WhyOptions& wanted, WhyAnswer& answer) const;
};

namespace {

bool may_go_on(const WhyOptions& wanted, WhyStep step) { return !wanted.progress || wanted.progress(step); }

}  // namespace

Result<WhyAnswer> Why::Implementation::look(const WhyOptions& wanted) const {
  if (!may_go_on(wanted, WhyStep::look)) return fail(ErrorCode::cancelled);
  WhyAnswer answer;
  answer.began = std::chrono::steady_clock::now();
  DumpOptions options = dump_options(wanted);
  if (is_core()) options.heap = wanted.heap;
  auto dump = session().dump(options);
  if (!dump) return fail(dump.error());
  answer.dump = std::move(*dump);
  answer.verdicts = why::judge(answer.dump);
  for (Verdict& v : answer.verdicts) {
    if (!is_core() && v.kind == VerdictKind::deadlock && v.is_certain && has_run(answer.dump, v)) v.is_certain = false;
    // A core does not say how long its threads have waited.
    if (is_core() && v.kind == VerdictKind::chain) v.is_certain = false;
  }
  return answer;
}

/// On a busy machine some threads do not stop with the others, and their waits are not known: then once more.
Result<WhyAnswer> Why::Implementation::look_at_all(const WhyOptions& wanted) const {
  constexpr int kMostLooks = 4;
  std::chrono::milliseconds pause{25};
  auto answer = look(wanted);
  for (int i = 1; i < kMostLooks && !is_core() && answer; i++, pause *= 2) {
    if (report::threads_apart(answer->dump) == 0) break;
    std::this_thread::sleep_for(pause);
    auto again = look(wanted);
    if (!again) break;
    if (report::threads_apart(again->dump) <= report::threads_apart(answer->dump)) answer = std::move(again);
  }
  return answer;
}

/// Only a cycle that is certain stands after one look at a running process: a healthy one has locks that are held and
/// waited for, and stops its threads now and then. For a single thread one look is not enough: no other thread has to
/// stand still for it to be wrong.
Result<WhyAnswer> Why::Implementation::judge(const WhyOptions& wanted) const {
  auto first = look_at_all(wanted);
  if (!first) return first;
  const std::vector<Contention> contended = why::contentions(first->dump);
  if (first->verdicts.empty()) first->contended = contended;
  if (is_core()) return first;
  const auto is_certain = [](const Verdict& v) {
    return v.kind == VerdictKind::deadlock && v.is_certain && v.steps.size() > 1;
  };
  if (std::all_of(first->verdicts.begin(), first->verdicts.end(), is_certain)) return first;
  if (!may_go_on(wanted, WhyStep::rest)) return fail(ErrorCode::cancelled);
  const std::vector<ThreadId> at_rest = rest(*first);
  auto second = look_at_all(wanted);
  if (!second) return second;
  second->verdicts = why::lasting(first->dump, first->verdicts, second->dump, second->verdicts, at_rest);
  if (!second->verdicts.empty()) return second;
  second->contended = why::contentions(second->dump);
  why::mark_lasting(contended, second->contended);
  return second;
}

Result<void> Why::Implementation::add_heap(const WhyOptions& wanted, WhyAnswer& answer) const {
  if (!may_go_on(wanted, WhyStep::heap)) return fail(ErrorCode::cancelled);
  DumpOptions options = dump_options(wanted);
  options.heap = wanted.heap;
  auto with_heap = session().dump(options);
  if (!with_heap) return fail(with_heap.error());
  std::vector<RuntimeSummary>& runtimes = with_heap->runtimes;
  for (std::size_t i = 0; i < std::min(runtimes.size(), answer.dump.runtimes.size()); i++)
    answer.dump.runtimes[i].pending = std::move(runtimes[i].pending);
  why::add_from_heap(answer.dump, answer.verdicts);
  return {};
}

/// Samples a process in which nothing is stuck, if it runs or samples were asked for.
void Why::Implementation::sample(const WhyOptions& wanted, WhyAnswer& answer) const {
  constexpr std::chrono::milliseconds kUsually{1000};
  const std::chrono::milliseconds time = wanted.sample.value_or(kUsually);
  if (is_core() || !answer.verdicts.empty() || time.count() == 0) return;
  if (!wanted.sample && !why::has_run_since(answer.dump, answer.began)) return;
  if (!may_go_on(wanted, WhyStep::sample)) {
    answer.not_sampled = {ErrorCode::cancelled};
    return;
  }
  auto busy = why::sample_busyness(shared, answer.dump, time);
  if (busy)
    answer.busy = std::move(*busy);
  else
    answer.not_sampled = busy.error();
}

Why::Why(std::unique_ptr<Session> session) : implementation_(std::make_unique<Implementation>()) {
  implementation_->shared->session = std::move(session);
}
Why::~Why() = default;
Why::Why(Why&&) noexcept = default;
Why& Why::operator=(Why&&) noexcept = default;

Session& Why::session() { return implementation_->session(); }

Result<WhyAnswer> Why::ask(const WhyOptions& options) {
  auto answer = implementation_->judge(options);
  if (!answer) return answer;
  if (options.heap && !implementation_->is_core())
    if (auto added = implementation_->add_heap(options, *answer); !added) return fail(added.error());
  implementation_->sample(options, *answer);
  return answer;
}

}  // namespace mixstack
