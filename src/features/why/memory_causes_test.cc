#include "features/why/memory_causes.h"

#include <gtest/gtest.h>

#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using test::fact;
using test::milliseconds;
using test::seconds;
using test::TwoLooks;

TwoLooks storm() {
  TwoLooks looks;
  looks.fault(184'000);
  *looks.after.kernel.system += milliseconds(1350);
  *looks.after.kernel.user += milliseconds(250);
  return looks;
}

TEST(MemoryCauses, AStormOfPageFaults) {
  const TwoLooks looks = storm();
  const auto cause = page_faults_cause(looks.before, looks.after, looks.evidence, false);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "92,000/s, 70 % of its processor time is the kernel's, which gives it memory");
  EXPECT_EQ(cause->place_of, "first used");
  EXPECT_FALSE(page_faults_cause(looks.before, looks.after, looks.evidence, true)) << "its writes cost as much";
}

TEST(MemoryCauses, ABurstOfPageFaultsIsNoStorm) {
  TwoLooks looks = storm();
  for (std::size_t i = 0; i < looks.evidence.memory.size(); i++)
    looks.evidence.memory[i].minor_faults = i < 10 ? 50'000 : 234'000;
  EXPECT_FALSE(page_faults_cause(looks.before, looks.after, looks.evidence, false));
}

TEST(MemoryCauses, AStartTakesItsMemory) {
  TwoLooks looks = storm();
  looks.evidence.uptime = seconds(4);
  looks.after.kernel.rss = *looks.before.kernel.rss + (700 << 20);
  EXPECT_FALSE(page_faults_cause(looks.before, looks.after, looks.evidence, false));
}

TEST(MemoryCauses, AHealthyOneHasNone) {
  const TwoLooks looks;
  EXPECT_FALSE(page_faults_cause(looks.before, looks.after, looks.evidence, false));
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
}

TEST(MemoryCauses, MemoryOutsideTheHeapGrows) {
  TwoLooks looks;
  looks.grow(20'400'000);
  looks.after.kernel.memory_limit = 512'000'000;
  looks.after.kernel.memory_used = 104'000'000;
  const auto cause = native_growth_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "10.2 MB/s outside the GC heap (62.9 MB, still)");
  EXPECT_FALSE(cause->is_certain) << "two seconds are few";
  EXPECT_FALSE(cause->ends_itself);
  EXPECT_EQ(cause->more.front(), "at this rate its limit of 512 MB is reached in 40 s");
  EXPECT_EQ(fact(*cause, "native"), 1);
}

TEST(MemoryCauses, AHeapThatGrowsIsNotOutsideOfIt) {
  TwoLooks looks;
  looks.grow(20'400'000);
  *looks.after.runtimes[0].committed += 20'000'000;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
  looks.after.runtimes[0].committed.reset();
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence)) << "not known";
}

TEST(MemoryCauses, NewObjectsMayBeInMemoryThatTheCollectorHadBefore) {
  TwoLooks looks;
  looks.grow(20'400'000);
  for (Counters* c : {&looks.before, &looks.after}) {
    RuntimeCounters& r = c->runtimes[0];
    r.generations.resize(5);
    r.threads = {{.os_id = 7, .thread = 0x1000, .small = 0, .large = 0}};
  }
  looks.after.runtimes[0].threads[0].small = 20'000'000;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence)) << "no collection: all of it is new";
  looks.after.runtimes[0].generations[0] = {.collections = 3, .survived = 0.02};
  EXPECT_TRUE(native_growth_cause(looks.before, looks.after, looks.evidence)) << "its memory is used again";
  looks.after.runtimes[0].committed = *looks.after.kernel.rss_anon - 8'000'000;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence)) << "it may all be the collector's";
  looks.after.runtimes[0].committed = looks.before.runtimes[0].committed;
  looks.after.runtimes[0].generations[0].survived = 0.98;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
  for (Counters* c : {&looks.before, &looks.after}) {
    c->runtimes[0].committed.reset();
    c->runtimes[0].generations[0] = {};
  }
  looks.after.runtimes[0].threads[0].small = 100'000;
  const auto cause = native_growth_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause) << "before the first collection, too";
  EXPECT_EQ(cause->what, "10.2 MB/s outside the GC heap (still)");
}

TEST(MemoryCauses, MemoryThatIsFreedLaterDoesNotGrow) {
  TwoLooks looks;
  looks.grow(20'400'000);
  for (std::size_t i = 10; i < 14; i++) looks.evidence.memory[i].anonymous = 100 << 20;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
}

TEST(MemoryCauses, AStartGrows) {
  TwoLooks looks;
  looks.grow(20'400'000);
  *looks.after.runtimes[0].methods += 900;
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
  looks = {};
  looks.grow(20'400'000);
  looks.evidence.uptime = seconds(3);
  EXPECT_FALSE(native_growth_cause(looks.before, looks.after, looks.evidence));
}

TEST(MemoryCauses, AProcessWithoutARuntimeGrowsAsAWhole) {
  TwoLooks looks;
  looks.grow(20'400'000);
  looks.before.runtimes.clear();
  looks.after.runtimes.clear();
  const auto cause = native_growth_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "10.2 MB/s of memory that no file backs");
}

}  // namespace
}  // namespace mixstack::why
