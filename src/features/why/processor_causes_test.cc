#include "features/why/processor_causes.h"

#include <gtest/gtest.h>

#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using test::fact;
using test::milliseconds;
using test::seconds;
using test::TwoLooks;

/// Its two threads want two processors, and three other processes want one each.
TwoLooks crowded() {
  TwoLooks looks;
  KernelCounters& b = looks.after.kernel;
  for (ThreadCounters& t : b.threads) {
    *t.cpu += milliseconds(100);
    *t.waiting += milliseconds(1700);
  }
  *b.busy_there += milliseconds(3100);
  *b.machine_busy += milliseconds(3100);
  looks.evidence.others = {{"backup", 3, milliseconds(3300)}, {"sshd", 1, milliseconds(20)}};
  return looks;
}

TEST(ProcessorCauses, OthersHaveTheProcessors) {
  const TwoLooks looks = crowded();
  const auto cause = crowded_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, SlowKind::crowded);
  EXPECT_TRUE(cause->is_certain);
  EXPECT_NEAR(cause->share, 3.405 / 3.985, 0.001);
  EXPECT_EQ(cause->what,
            "its threads wait for a processor 85 % of the time they could run; "
            "others: 3 x backup (1.6 of 2 processors)");
  EXPECT_NEAR(fact(*cause, "waiting_threads"), 1.7, 0.01);
  EXPECT_EQ(cause->more.size(), 2u);
}

TEST(ProcessorCauses, OthersThatAreNotSeenAreNotNamed) {
  TwoLooks looks = crowded();
  looks.evidence.others.clear();
  const auto cause = crowded_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_NE(cause->what.find("cannot be seen from here"), std::string::npos);
}

TEST(ProcessorCauses, ThreadsThatWaitForEachOtherAreNotCrowded) {
  TwoLooks looks;
  KernelCounters& b = looks.after.kernel;
  for (std::uint32_t tid = 50; tid < 58; tid++) {
    looks.before.kernel.threads.push_back(TwoLooks::thread(tid, seconds(1), seconds(1), 0));
    b.threads.push_back(TwoLooks::thread(tid, seconds(1) + milliseconds(440), seconds(1) + milliseconds(1500), 0));
  }
  *b.busy_there = *looks.before.kernel.busy_there + milliseconds(3980);
  EXPECT_FALSE(crowded_cause(looks.before, looks.after, looks.evidence));
}

TEST(ProcessorCauses, AServiceThatDoesLittleIsNotCrowdedOnABusyMachine) {
  TwoLooks looks;
  *looks.after.kernel.threads[0].waiting += milliseconds(500);
  *looks.after.kernel.busy_there += milliseconds(3100);
  looks.evidence.others = {{"backup", 8, milliseconds(3300)}};
  EXPECT_FALSE(crowded_cause(looks.before, looks.after, looks.evidence));
}

TEST(ProcessorCauses, AThreadThatWaitsWhileProcessorsAreFreeIsNotCrowded) {
  TwoLooks looks = crowded();
  looks.after.kernel.busy_there = *looks.before.kernel.busy_there + milliseconds(1500);  // throttled by a quota
  EXPECT_FALSE(crowded_cause(looks.before, looks.after, looks.evidence));
}

TEST(ProcessorCauses, AHealthyOneHasNone) {
  const TwoLooks looks;
  EXPECT_FALSE(crowded_cause(looks.before, looks.after, looks.evidence));
  EXPECT_FALSE(throttled_cause(looks.evidence));
  EXPECT_FALSE(crowded_cause({}, {}, {}));
}

TEST(ProcessorCauses, AQuotaThatIsFelt) {
  TwoLooks looks;
  process::QuotaUse use;
  use.quota.cgroup = "/app";
  use.quota.quota_us = 30'000;
  use.quota.period_us = 100'000;
  use.periods = 30;
  use.throttled = 29;
  looks.evidence.quota = use;
  const auto cause = throttled_cause(looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "its cgroup /app may use 0.3 processors, and was stopped in 29 of 30 periods");
  EXPECT_NEAR(cause->share, 0.97, 0.01);
  looks.evidence.quota->throttled = 5;
  EXPECT_FALSE(throttled_cause(looks.evidence));
  looks.evidence.quota->periods = looks.evidence.quota->throttled = 2;
  EXPECT_FALSE(throttled_cause(looks.evidence)) << "too short";
}

}  // namespace
}  // namespace mixstack::why
