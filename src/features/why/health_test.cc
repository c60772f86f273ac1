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
  EXPECT_EQ(health.lock_waiters, 0u) << "it has no owner";
}

}  // namespace
}  // namespace mixstack::why
