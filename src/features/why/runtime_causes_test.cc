#include "features/why/runtime_causes.h"

#include <gtest/gtest.h>

#include "features/why/advice.h"
#include "features/why/health.h"

namespace mixstack::why {
namespace {

using namespace std::chrono_literals;

/// A second of a process with one runtime and one thread.
struct Second {
  Counters before, after;
  RuntimeTally reasons;
  ProcessDump dump;

  Second() {
    after.at = before.at + 1s;
    for (Counters* c : {&before, &after}) {
      RuntimeCounters& r = c->runtimes.emplace_back();
      r.generations.resize(5);
      r.exceptions = 10;
      r.methods = 1000;
      r.compiling = 0ns;
      r.pauses = 0us;
      r.threads.push_back({.os_id = 7, .thread = 0x1000, .small = 0, .large = 0});
      ThreadCounters& thread = c->kernel.threads.emplace_back();
      thread.tid = 7;
      thread.cpu = thread.waiting = 0ns;
    }
    ThreadDump& t = dump.threads.emplace_back();
    t.tid = t.ns_tid = 7;
    t.managed.emplace().last_exception = "Shop.Broken";
  }
  RuntimeCounters& now() { return after.runtimes[0]; }
  void collect(std::uint64_t times, GcReason reason, std::uint64_t full = 0) {
    reasons.note(before.runtimes);
    now().last = GcLast{.number = times, .generation = full != 0 ? 2u : 0u, .reason = reason};
    reasons.note(after.runtimes);
    for (GcGeneration& g : now().generations) g.collections = full;
    now().generations[0].collections = times;
  }
  [[nodiscard]] RuntimeEvidence evidence() const { return {before, after, reasons, dump}; }
};

double fact(const SlowCause& cause, const std::string& name) {
  for (const auto& [n, value] : cause.facts)
    if (n == name) return value;
  return -1;
}

TEST(RuntimeCauses, AHealthyProcessHasNone) {
  Second second;
  second.collect(2, GcReason::small_objects);
  second.now().pauses = 2000us;
  second.now().exceptions = 55;
  second.now().methods = 1100;
  second.now().compiling = 50ms;
  second.now().threads[0].small = 20'000'000;
  second.now().generations[0].survived = 0.01;
  second.now().generations[1].survived = 1.0;
  EXPECT_TRUE(runtime_causes(second.evidence()).empty());
  const Health health = health_of(second.before, second.after, second.dump);
  EXPECT_DOUBLE_EQ(*health.collections, 2);
  EXPECT_DOUBLE_EQ(*health.pause_ms, 1);
  EXPECT_DOUBLE_EQ(*health.exceptions, 45);
  EXPECT_DOUBLE_EQ(*health.allocated, 20e6);
}

TEST(RuntimeCauses, CollectionsByAllocation) {
  Second second;
  second.collect(36, GcReason::small_objects);
  second.now().pauses = 700ms;
  second.now().threads[0].small = 190'000'000;
  const auto cause = collections_cause(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "70 % of the time, 36/s, for 190 MB/s; thread 7 allocates all of it");
  EXPECT_TRUE(cause->title.empty());
  EXPECT_DOUBLE_EQ(cause->share, 0.7);
  EXPECT_DOUBLE_EQ(fact(*cause, "per_second"), 36);
}

TEST(RuntimeCauses, CollectionsThatAreForced) {
  Second second;
  second.collect(4, GcReason::induced, 4);
  second.now().pauses = 460ms;
  const auto cause = collections_cause(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->title, "FORCED COLLECTIONS");
  EXPECT_EQ(cause->what, "4.0 full ones/s, 46 % of the time, by calls of GC.Collect and its kin");
  EXPECT_DOUBLE_EQ(fact(*cause, "induced_share"), 1);
}

TEST(RuntimeCauses, CollectionsByLargeObjects) {
  Second second;
  second.collect(4, GcReason::large_objects, 4);
  second.now().pauses = 300ms;
  second.now().threads[0].large = 270'000'000;
  const auto cause = collections_cause(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what,
            "4.0 full ones/s, 30 % of the time, because of large objects: 270 MB/s; thread 7 allocates all of it");
}

TEST(RuntimeCauses, PausesOnACrowdedMachineCountLess) {
  Second second;
  second.collect(3, GcReason::small_objects);
  second.now().pauses = 70ms;
  EXPECT_TRUE(collections_cause(second.evidence()));
  second.after.kernel.threads[0].cpu = 100ms;
  second.after.kernel.threads[0].waiting = 800ms;
  EXPECT_FALSE(collections_cause(second.evidence()));
}

TEST(RuntimeCauses, MemoryGrowsWhereAllSurvives) {
  Second second;
  second.collect(2, GcReason::small_objects, 2);
  second.now().threads[0].small = 12'000'000;
  for (std::size_t i : {0u, 1u, 2u}) second.now().generations[i].survived = i == 0 ? 0.98 : 1.0;
  auto cause = managed_growth(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_TRUE(cause->is_certain);
  EXPECT_EQ(cause->what, "11.8 MB/s, managed: 98 % of what is allocated survives; thread 7 allocates all of it");
  second.now().generations[2].survived = 0.36;  // dies in middle age
  EXPECT_FALSE(managed_growth(second.evidence()));
  second.now().generations[2].survived = 1.0;
  second.now().generations[2].collections = 0;  // none has given back anything yet
  EXPECT_FALSE(managed_growth(second.evidence()));
}

TEST(RuntimeCauses, OnACrowdedMachineAYoungProgramGrowsNothing) {
  Second second;
  second.collect(2, GcReason::small_objects, 2);
  second.now().threads[0].small = 12'000'000;
  for (std::size_t i : {0u, 1u, 2u}) second.now().generations[i].survived = 1.0;
  second.after.kernel.threads[0].cpu = 100ms;
  second.after.kernel.threads[0].waiting = 800ms;
  EXPECT_FALSE(managed_growth(second.evidence()));
  RuntimeEvidence old = second.evidence();
  old.uptime = std::chrono::seconds(60);
  EXPECT_TRUE(managed_growth(old));
  second.now().generations[0].survived = 0.7;
  RuntimeEvidence part = second.evidence();
  part.uptime = std::chrono::seconds(60);
  const auto cause = managed_growth(part);
  ASSERT_TRUE(cause);
  EXPECT_FALSE(cause->is_certain) << "a third of it dies";
}

TEST(RuntimeCauses, LargeObjectsThatDieGrowNothing) {
  Second second;
  second.collect(200, GcReason::large_objects, 200);
  second.now().threads[0].small = 100'000;
  second.now().threads[0].large = 1'200'000'000;
  for (std::size_t i : {0u, 1u, 2u}) second.now().generations[i].survived = i == 0 ? 0.95 : 1.0;
  second.now().generations[3].survived = 0.4;  // those of the ring in which the last few are kept
  EXPECT_FALSE(managed_growth(second.evidence()));
  second.now().generations[3].survived = 1.0;
  second.before.kernel.rss_anon = 40'000'000;
  second.after.kernel.rss_anon = 41'000'000;
  EXPECT_FALSE(managed_growth(second.evidence())) << "nothing of it is there";
  second.after.kernel.rss_anon = 1'240'000'000;
  const auto cause = managed_growth(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_TRUE(cause->what.starts_with("1.2 GB/s, managed: 100 % of what is allocated survives")) << cause->what;
}

TEST(RuntimeCauses, Exceptions) {
  Second second;
  second.now().exceptions = 20'221;
  auto cause = exceptions_cause(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "20,200/s, caught at once: Shop.Broken");
  second.now().exceptions = 5;  // another runtime than before
  EXPECT_FALSE(exceptions_cause(second.evidence()));
  second.now().exceptions.reset();
  EXPECT_FALSE(exceptions_cause(second.evidence()));
}

TEST(RuntimeCauses, CompilingButNotOfAStart) {
  Second second;
  second.now().methods = 1150;
  second.now().compiling = 250ms;
  EXPECT_TRUE(compiling_cause(second.evidence()));
  RuntimeEvidence young = second.evidence();
  young.uptime = 5s;
  EXPECT_FALSE(compiling_cause(young));
}

TEST(RuntimeCauses, CodeThatIsMadeSoonAfterTheStart) {
  Second second;
  second.now().methods = 1150;
  second.now().compiling = 900ms;
  second.after.kernel.threads[0].cpu = 950ms;
  RuntimeEvidence e = second.evidence();
  e.uptime = 8s;
  EXPECT_TRUE(compiling_cause(e)) << "few large methods, and hardly anything else";
  e.uptime = 4s;
  EXPECT_FALSE(compiling_cause(e)) << "a start";
  e.uptime = 8s;
  second.after.kernel.threads[0].waiting = 2000ms;
  EXPECT_FALSE(compiling_cause(e)) << "a start on a crowded machine";
  second.after.kernel.threads[0].waiting = 0ns;
  second.after.kernel.threads[0].cpu = 1850ms;
  EXPECT_FALSE(compiling_cause(e)) << "less than half of what it does";
}

TEST(RuntimeCauses, ReasonsAreCountedAtEachChange) {
  RuntimeTally tally;
  std::vector<RuntimeCounters> runtimes(1);
  runtimes[0].last = GcLast{.number = 10, .generation = 0, .reason = GcReason::induced};
  tally.note(runtimes);
  EXPECT_EQ(tally.all(), 0u) << "what was before does not count";
  runtimes[0].last = GcLast{.number = 13, .generation = 0, .reason = GcReason::large_objects};
  tally.note(runtimes);
  tally.note(runtimes);
  EXPECT_EQ(tally.of(GcReason::large_objects), 3u);
  EXPECT_EQ(tally.most(), GcReason::large_objects);
}

TEST(Advice, TheMachineComesFirst) {
  std::vector<SlowCause> causes(4);
  causes[0].kind = SlowKind::exceptions;
  causes[0].share = 0.9;
  causes[1].kind = SlowKind::crowded;
  causes[2].kind = SlowKind::collections;
  causes[2].share = 0.95;
  causes[3].kind = SlowKind::throttled;
  sort_causes(causes);
  EXPECT_EQ(causes[0].kind, SlowKind::throttled);
  EXPECT_EQ(causes[1].kind, SlowKind::crowded);
  EXPECT_EQ(causes[2].kind, SlowKind::collections);
  add_advice(4711, causes);
  for (const SlowCause& c : causes) {
    EXPECT_FALSE(c.next.empty());
    EXPECT_FALSE(c.change.empty());
    EXPECT_EQ(c.next.find('{'), std::string::npos);
  }
}

TEST(RuntimeCauses, TypesOfExceptionsAreThoseThatWereSeen) {
  Second second;
  second.now().exceptions = 2010;
  second.now().thrown = {"Shop.Refused"};
  second.reasons.note(second.after.runtimes);
  second.now().thrown = {"Shop.Late", "Shop.Refused"};
  second.reasons.note(second.after.runtimes);
  const auto cause = exceptions_cause(second.evidence());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "2,000/s, caught at once: Shop.Refused, Shop.Late");
}

TEST(RuntimeCauses, MemoryOfLargeObjectsIsMadeAnew) {
  Second second;
  second.collect(80, GcReason::large_objects, 80);
  second.now().pauses = 40ms;
  second.now().threads[0].large = 2'000'000'000;
  std::vector<SlowCause> causes = runtime_causes(second.evidence());
  ASSERT_EQ(causes.size(), 1u);
  SlowCause& faults = causes.emplace_back();
  faults.kind = SlowKind::page_faults;
  faults.what = "180,000/s";
  faults.share = 0.7;
  faults.facts = {{"touched_bytes_per_second", 5e9}};
  fold_page_faults(causes);
  EXPECT_EQ(causes.size(), 2u) << "others touch more";
  causes[1].facts = {{"touched_bytes_per_second", 1.2e9}};
  fold_page_faults(causes);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].share, 0.7);
  EXPECT_EQ(causes[0].more.back(), "the kernel makes the memory of large objects anew: 180,000/s");
}

}  // namespace
}  // namespace mixstack::why
