#include "features/why/pool_tally.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

using namespace std::chrono_literals;

/// Workers 1 to `workers`, of which the first `blocked` sleep, and so many queued items.
ProcessDump look(std::uint32_t workers, std::uint32_t blocked, std::uint64_t queued) {
  ProcessDump dump;
  ThreadPool& pool = dump.runtimes.emplace_back().pending.emplace().pool.emplace();
  pool.existing = pool.processing = pool.goal = static_cast<std::int32_t>(workers);
  pool.queued = static_cast<std::uint32_t>(queued);
  for (ThreadId tid = 1; tid <= workers; tid++) {
    pool.busy.push_back(tid);
    ThreadDump& t = dump.threads.emplace_back();
    t.tid = t.ns_tid = tid;
    t.kernel_state = 'R';
    if (tid <= blocked) t.wait.emplace().kind = WaitKind::sleep;
  }
  return dump;
}

std::optional<SlowCause> cause_of(const std::vector<ProcessDump>& looks, std::chrono::milliseconds between = 200ms) {
  PoolTally tally;
  std::chrono::steady_clock::time_point at{};
  for (const ProcessDump& dump : looks) {
    tally.add(dump, at);
    at += between;
  }
  return tally.cause();
}

TEST(PoolTally, AQueueThatGrowsBehindWorkersThatWait) {
  const auto cause = cause_of({look(3, 3, 100), look(3, 3, 109), look(3, 3, 120), look(3, 3, 129), look(3, 3, 140)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "by 50 items/s to 140 items, all 3 workers of the thread pool wait at any time");
  EXPECT_FALSE(cause->is_certain) << "0.8 s";
  EXPECT_FALSE(cause->ends_itself);
  ASSERT_EQ(cause->more.size(), 1u);
  EXPECT_EQ(cause->more[0], "most of them wait for time to pass");
}

TEST(PoolTally, OneOfAFewMayBeBetweenTwoWaits) {
  const auto cause = cause_of({look(3, 3, 10), look(3, 2, 20), look(3, 3, 30), look(3, 3, 40), look(3, 2, 50)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "by 50 items/s to 50 items, all 3 workers of the thread pool wait most of the time");
}

TEST(PoolTally, AnotherOneOfThemMayGoOnAtEachLook) {
  std::vector<ProcessDump> looks(6, look(3, 2, 10));
  std::uint32_t queued = 10;
  for (std::size_t i = 0; i < looks.size(); i++) {
    looks[i].runtimes[0].pending->pool->queued = queued += 10;
    EXPECT_FALSE(i == 5 && cause_of(looks)) << "the third one computes";
  }
  for (std::size_t i = 0; i < looks.size(); i++) std::swap(looks[i].threads[i % 3].wait, looks[i].threads[2].wait);
  EXPECT_TRUE(cause_of(looks));
}

TEST(PoolTally, AWorkerAboveTheGoalIsNotCounted) {
  std::vector<ProcessDump> looks;
  for (const std::uint64_t queued : {10u, 20u, 30u, 40u}) {
    ThreadPool& pool = *looks.emplace_back(look(2, 2, queued)).runtimes[0].pending->pool;
    pool.existing = 3;
    pool.idle = {9};
  }
  EXPECT_TRUE(cause_of(looks));
  for (ProcessDump& dump : looks) dump.runtimes[0].pending->pool->goal = 3;  // it may take work, and has none
  EXPECT_FALSE(cause_of(looks));
}

TEST(PoolTally, HealthyQueuesAreNone) {
  EXPECT_FALSE(cause_of({look(3, 3, 140), look(3, 3, 120), look(3, 3, 90), look(3, 3, 60)})) << "a burst";
  EXPECT_FALSE(cause_of({look(3, 3, 10), look(3, 3, 11), look(3, 3, 10), look(3, 3, 11)})) << "it stands";
  EXPECT_FALSE(cause_of({look(4, 2, 10), look(4, 2, 20), look(4, 2, 30), look(4, 2, 40)})) << "they compute";
  EXPECT_FALSE(cause_of({look(3, 3, 10), look(3, 3, 20), look(3, 3, 30)})) << "too few looks";
  EXPECT_FALSE(cause_of({look(3, 3, 10), look(3, 3, 20), look(3, 3, 30), look(3, 3, 40)}, 50ms)) << "too short";
  EXPECT_FALSE(cause_of({look(9, 9, 0), look(9, 9, 2), look(9, 9, 4), look(9, 9, 6)})) << "less than workers";
  EXPECT_FALSE(cause_of({}));
}

TEST(PoolTally, MoreThanAreCounted) {
  std::vector<ProcessDump> looks(4, look(80, 80, 4096));
  EXPECT_FALSE(cause_of(looks)) << "it stands";
  for (ProcessDump& dump : looks) dump.runtimes[0].pending->pool->has_more = true;
  const auto cause = cause_of(looks);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "more than 4096 items are queued, all 80 workers of the thread pool wait at any time");
}

}  // namespace
}  // namespace mixstack::why
