#include "features/why/health.h"

#include <gtest/gtest.h>

#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using test::TwoLooks;

TEST(Health, AQuietServiceSpendsNothing) {
  const TwoLooks looks;
  EXPECT_FALSE(spends(looks.before, looks.after));
}

TEST(Health, AThreadThatGetsNoProcessorSpends) {
  TwoLooks looks;
  // It sleeps at each look (reads of small files), and is ready for most of the time between them.
  *looks.after.kernel.threads[0].waiting += std::chrono::milliseconds(1500);
  EXPECT_TRUE(spends(looks.before, looks.after));
}

TEST(Health, SeveralThreadsAtOneSemaphore) {
  const TwoLooks looks;
  ProcessDump dump;
  for (int i = 0; i < 5; i++) {
    ThreadWait& wait = dump.threads.emplace_back().wait.emplace();
    wait.kind = WaitKind::semaphore_slim;
    wait.object.address = i < 3 ? 0x1000 : 0x2000;
  }
  const Health health = health_of(looks.before, looks.after, dump);
  EXPECT_EQ(health.semaphore_waiters, 3u);
  EXPECT_EQ(health.all_semaphore_waiters, 5u);
  EXPECT_EQ(health.lock_waiters, 0u) << "it has no owner";
}

/// 40 ms in which nothing happens.
TwoLooks standing() {
  TwoLooks looks;
  RuntimeCounters& runtime = looks.before.runtimes[0];
  runtime.exceptions = 7;
  runtime.generations.resize(5);
  AllocatedBytes& thread = runtime.threads.emplace_back();
  thread.thread = 1;
  thread.small = 1000;
  looks.after = looks.before;
  looks.after.at += std::chrono::milliseconds(40);
  return looks;
}

TEST(Health, WhatStandsStillHasRatesHoweverShortTheTime) {
  TwoLooks looks = standing();
  EXPECT_TRUE(stands_still(looks.before, looks.after));
  const Health health = health_of(looks.before, looks.after, {});
  EXPECT_EQ(health.processors, 0);
  EXPECT_EQ(health.collections, 0);
  EXPECT_EQ(health.exceptions, 0);
  using Change = void (*)(Counters&);
  for (const Change change : std::initializer_list<Change>{
           [](Counters& c) { *c.kernel.threads[1].cpu += std::chrono::milliseconds(1); },
           [](Counters& c) { *c.kernel.threads[1].waiting += std::chrono::milliseconds(1); },
           [](Counters& c) { *c.kernel.minor_faults += 100; }, [](Counters& c) { *c.kernel.children_faults += 1; },
           [](Counters& c) { *c.kernel.writes += 1; }, [](Counters& c) { *c.runtimes[0].exceptions += 1; },
           [](Counters& c) { c.runtimes[0].exceptions.reset(); }, [](Counters& c) { *c.runtimes[0].methods += 1; },
           [](Counters& c) { c.runtimes[0].generations[0].collections++; },
           [](Counters& c) { c.runtimes[0].threads[0].small += 8; }, [](Counters& c) { c.runtimes.clear(); }}) {
    looks = standing();
    change(looks.after);
    EXPECT_FALSE(stands_still(looks.before, looks.after));
    EXPECT_FALSE(health_of(looks.before, looks.after, {}).processors);
  }
}

TEST(Health, WhatComesInBurstsShowsInTheSumsOfItsLife) {
  Counters now = standing().after;
  constexpr std::chrono::seconds kHour{3600};
  now.kernel.children_faults = 0;
  EXPECT_FALSE(was_quiet(now, kHour)) << "120 s of processor time";
  now.kernel.user = std::chrono::seconds(20);
  EXPECT_TRUE(was_quiet(now, kHour));
  EXPECT_FALSE(was_quiet(now, std::chrono::seconds(1))) << "young";
  now.kernel.children_faults = 1;
  EXPECT_FALSE(was_quiet(now, kHour)) << "it starts programs";
  now.kernel.children_faults = 0;
  now.runtimes[0].exceptions = 5 * 3600;
  EXPECT_FALSE(was_quiet(now, kHour));
  now.runtimes[0].exceptions = 0;
  now.runtimes[0].generations[0].collections = 3600;
  EXPECT_FALSE(was_quiet(now, kHour));
}

}  // namespace
}  // namespace mixstack::why
