// One answer of `why`, from an opened session.
//
// Input: a session over a process or a core, and what is wanted. Output: the last look's dump, verdicts, contended
// locks, counters, causes of slowness, and samples of what runs where nothing is stuck. Order: look; read counters;
// where a verdict could be a healthy moment let time pass, with an eye on the clocks of the threads that must not run
// meanwhile; look again and keep what lasts, and of threads that hold up others those that still do at eight more
// looks; search the heap; where a lock was waited for look some times more; sample where something runs or is spent;
// read counters again. The heap comes last of the looks for verdicts: its stop makes threads run that had not run
// before it. Bounds: four tries for each of two looks where threads do not stop in time (25, 50, 100 ms apart); 2 s
// between looks; kMostLockLooks looks for locks and kMostCallerLooks for callers; samples for as long as is wanted. A
// core is looked at once: nothing changes in it.
#include "mixstack/why.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "features/record/stack_recorder.h"
#include "features/why/busy_sample.h"
#include "features/why/contention.h"
#include "features/why/health.h"
#include "features/why/judge.h"
#include "features/why/lasting.h"
#include "features/why/lock_tally.h"
#include "features/why/resting.h"
#include "features/why/runtime_places.h"
#include "features/why/slow_watch.h"
#include "output/report/why.h"

namespace mixstack {
namespace {

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
  // In a core or pack, what was stopped a moment later counts: there is no second look.
  const auto is_missing = [](const ThreadDump& t) {
    return !t.captured && t.capture_error.code == ErrorCode::thread_not_stopped && t.kernel_state != 'D';
  };
  const bool has_all = dump.target.core_path.empty()
                           ? report::threads_apart(dump) == 0
                           : std::none_of(dump.threads.begin(), dump.threads.end(), is_missing);
  return has_all && report::waits_not_known(dump) == 0 && report::knows_waits(dump);
}

bool WhyAnswer::is_stuck() const {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return !v.may_time_out; });
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
  [[nodiscard]] Result<WhyAnswer> judge(const WhyOptions& wanted);
  [[nodiscard]] Result<void> add_heap(const WhyOptions& wanted, WhyAnswer& answer) const;
  [[nodiscard]] bool is_to_sample(const WhyOptions& wanted, const WhyAnswer& answer);
  void confirm_owners(const WhyOptions& wanted, WhyAnswer& answer);
  void look_at_locks(const WhyOptions& wanted, WhyAnswer& answer);
  void look_for_callers(const WhyOptions& wanted, WhyAnswer& answer) const;
  void sample(const WhyOptions& wanted, WhyAnswer& answer);
  void add_slowness(const WhyOptions& wanted, WhyAnswer& answer);

  std::optional<why::SlowWatch> watch{};  ///< of the answer that is being made; nothing: a core
  why::LockTally locks{};
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
    if (!is_core() && v.kind == VerdictKind::deadlock && v.is_certain && why::has_run(answer.dump, v))
      v.is_certain = false;
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
Result<WhyAnswer> Why::Implementation::judge(const WhyOptions& wanted) {
  watch.reset();
  locks = {};
  auto first = look_at_all(wanted);
  if (!first) return first;
  if (!is_core()) {
    watch.emplace(shared, session().target().info().pid);
    watch->begin();
    locks.add(first->dump, first->began);
    watch->look(first->dump, first->began);
  }
  const std::vector<Contention> contended = why::contentions(first->dump);
  if (first->verdicts.empty()) first->contended = contended;
  if (is_core()) return first;
  const auto is_certain = [](const Verdict& v) {
    return v.kind == VerdictKind::deadlock && v.is_certain && v.steps.size() > 1;
  };
  if (std::all_of(first->verdicts.begin(), first->verdicts.end(), is_certain)) return first;
  if (!may_go_on(wanted, WhyStep::rest)) return fail(ErrorCode::cancelled);
  const std::vector<ThreadId> at_rest = why::rest(first->dump, first->verdicts);
  auto second = look_at_all(wanted);
  if (!second) return second;
  locks.add(second->dump, second->began);
  watch->look(second->dump, second->began);
  second->verdicts = why::lasting(first->dump, first->verdicts, second->dump, second->verdicts, at_rest);
  confirm_owners(wanted, *second);
  if (!second->verdicts.empty()) return second;
  second->contended = why::contentions(second->dump);
  why::mark_lasting(contended, second->contended);
  return second;
}

/// Threads may wait for seconds for a lock that others get again and again: no thread holds them up then, though two
/// looks may have found the same owner by chance.
void Why::Implementation::confirm_owners(const WhyOptions& wanted, WhyAnswer& answer) {
  constexpr std::array kBetween{11, 23, 7, 37, 13, 53, 17, 29};  // ms: in step with no loop
  const auto is_chain = [](const Verdict& v) { return v.kind == VerdictKind::chain && !v.steps.empty(); };
  for (const int pause : kBetween) {
    if (std::none_of(answer.verdicts.begin(), answer.verdicts.end(), is_chain)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    const auto again = look(wanted);
    if (!again) return;
    locks.add(again->dump, again->began);
    std::erase_if(answer.verdicts, [&](const Verdict& v) { return why::has_another_owner(again->dump, v); });
  }
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

/// Whether a process in which nothing is stuck runs, or spends what counters show, or samples were asked for.
bool Why::Implementation::is_to_sample(const WhyOptions& wanted, const WhyAnswer& answer) {
  constexpr std::chrono::milliseconds kStill{40}, kShort{120};
  if (wanted.sample || why::has_run_since(answer.dump, answer.began)) return true;
  watch->pass_until(kStill);
  if (!watch->rests()) watch->pass_until(kShort);
  return watch->spends() || why::waits_for_a_disk(answer.dump);
}

/// A lock that some thread waits for may be held for a moment, or wanted all the time, and a queue may be a burst: more
/// looks tell.
void Why::Implementation::look_at_locks(const WhyOptions& wanted, WhyAnswer& answer) {
  constexpr std::uint32_t kMostLockLooks = 6;
  constexpr std::chrono::milliseconds kBetween{60}, kApart{200};
  std::vector<Contention> last;
  ProcessDump starved = why::proved_starvation(answer.dump, answer.dump).empty() ? ProcessDump() : answer.dump;
  auto starved_at = answer.began;
  while ((locks.any() || watch->may_queue_grow()) && locks.looks() < kMostLockLooks) {
    std::this_thread::sleep_for(kBetween);
    auto again = look(wanted);
    if (!again) return;
    locks.add(again->dump, again->began);
    watch->look(again->dump, again->began);
    last = why::contentions(again->dump);
    watch->poll();
    if (starved.threads.empty() && !why::proved_starvation(again->dump, again->dump).empty()) {
      starved = again->dump;
      starved_at = again->began;
    } else if (again->began - starved_at >= kApart) {
      answer.verdicts = why::proved_starvation(starved, again->dump);
      if (answer.verdicts.empty()) continue;
      answer.dump = std::move(again->dump);
      answer.began = again->began;
      answer.contended.clear();
      return;
    }
  }
  if (last.empty()) return;
  for (Contention& c : answer.contended) {
    const bool was_lasting = c.is_lasting;
    why::mark_lasting(last, {&c, 1});
    c.is_lasting = c.is_lasting || was_lasting;
  }
}

/// A thread that calls for collections may wait while others collect: no sample of running threads shows it.
void Why::Implementation::look_for_callers(const WhyOptions& wanted, WhyAnswer& answer) const {
  constexpr int kMostCallerLooks = 6;
  constexpr std::chrono::milliseconds kBetween{40};
  for (int i = 0; i < kMostCallerLooks && why::wants_a_caller(answer.causes); i++) {
    std::this_thread::sleep_for(kBetween);
    const auto again = look(wanted);
    if (!again) return;
    why::add_runtime_places(again->dump, answer.causes);
  }
}

void Why::Implementation::sample(const WhyOptions& wanted, WhyAnswer& answer) {
  constexpr std::chrono::milliseconds kUsually{1000};
  if (!may_go_on(wanted, WhyStep::sample)) {
    answer.not_sampled = {ErrorCode::cancelled};
    return;
  }
  std::unique_ptr<why::FaultSampling> faults;
  (void)watch->spends();
  if (watch->touches_memory())
    if (auto begun = why::FaultSampling::begin(shared)) faults = std::move(*begun);
  why::SampleHooks hooks;
  hooks.tick = [&] { watch->poll(); };
  hooks.ended = [&] { watch->end(); };
  hooks.done = [&](const Recording& recording, const Busyness& busy) {
    answer.causes = watch->causes(answer.dump, locks, &busy, &recording);
  };
  auto busy = why::sample_busyness(shared, answer.dump, wanted.sample.value_or(kUsually), hooks);
  if (busy) {
    answer.busy = std::move(*busy);
  } else {
    answer.not_sampled = busy.error();
    watch->end();
    answer.causes = watch->causes(answer.dump, locks, nullptr, nullptr);
  }
  if (faults) faults->end(answer.causes);
  look_for_callers(wanted, answer);
}

/// Counters are read at the end whatever was found. More looks and samples only where nothing is stuck.
void Why::Implementation::add_slowness(const WhyOptions& wanted, WhyAnswer& answer) {
  constexpr std::chrono::milliseconds kNever{0}, kWithLocks{500};
  if (!watch) return;
  const bool looks_on = answer.verdicts.empty() && wanted.sample != kNever;
  if (looks_on) look_at_locks(wanted, answer);
  const bool is_slow = looks_on && answer.verdicts.empty();
  if (is_slow && is_to_sample(wanted, answer)) {
    sample(wanted, answer);
  } else {
    if (is_slow && locks.any()) watch->pass_until(kWithLocks);
    watch->end();
    answer.causes = watch->causes(answer.dump, locks, nullptr, nullptr);
    const auto is_starvation = [&](const SlowCause& c) { return c.kind == SlowKind::queue && !is_slow; };
    if (looks_on) std::erase_if(answer.causes, is_starvation);
  }
  answer.health = watch->health(answer.dump);
  answer.health->longest_lock_wait = locks.longest();
  // Looks enough to say that a lock is wanted for moments alone.
  const auto is_lock = [](const SlowCause& c) { return c.kind == SlowKind::contended; };
  if (locks.looks() > why::LockTally::kLeastLooks && std::none_of(answer.causes.begin(), answer.causes.end(), is_lock))
    answer.contended.clear();
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
  implementation_->add_slowness(options, *answer);
  return answer;
}

}  // namespace mixstack
