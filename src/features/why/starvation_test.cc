#include "features/why/starvation.h"

#include <gtest/gtest.h>

#include "features/why/judge.h"
#include "features/why/lasting.h"

namespace mixstack::why {
namespace {

/// A pool of `workers` threads, each of which waits for a task of its own; `queued` items.
ProcessDump pool_of(std::uint32_t workers, std::uint32_t queued) {
  ProcessDump dump;
  PendingWork& pending = dump.runtimes.emplace_back().pending.emplace();
  ThreadPool& pool = pending.pool.emplace();
  pool.processing = pool.existing = pool.goal = static_cast<std::int32_t>(workers);
  pool.queued = queued;
  pool.since_dequeue = std::chrono::milliseconds(20);
  for (ThreadId tid = 1; tid <= workers; tid++) {
    pool.busy.push_back(tid);
    ThreadDump& thread = dump.threads.emplace_back();
    thread.tid = thread.ns_tid = tid;
    thread.facts.cpu = std::chrono::milliseconds(1);
    thread.wait.emplace();
    thread.wait->kind = WaitKind::task;
    thread.wait->proof = Proof::proved;
    thread.wait->object.address = 0x1000 * tid;
    AsyncChain& chain = pending.chains.emplace_back();
    chain.waiter = tid;
    chain.steps.push_back({"Db.ReadRow()", 0x1000 * tid, 0});
    chain.end = AsyncEnd::yielded;
  }
  return dump;
}

PendingWork& pending_of(ProcessDump& dump) { return *dump.runtimes.front().pending; }

TEST(Starvation, AWorkerThatWaitsForWhatIsQueuedProvesIt) {
  ProcessDump dump = pool_of(3, 5);
  ASSERT_EQ(judge(dump).size(), 1u);
  EXPECT_FALSE(judge(dump).front().is_certain) << "nothing is known to be queued for them";
  pending_of(dump).chains[1].is_queued = true;
  const auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::starved_pool);
  EXPECT_TRUE(verdicts[0].is_certain);
  EXPECT_EQ(verdicts[0].threads, 3u);
  ASSERT_EQ(verdicts[0].steps.size(), 1u);
  EXPECT_EQ(verdicts[0].steps[0].thread, 2u);
}

TEST(Starvation, APoolThatCanTakeWorkIsNotStarved) {
  for (int way = 0; way < 6; way++) {
    ProcessDump dump = pool_of(3, 5);
    pending_of(dump).chains[1].is_queued = true;
    pending_of(dump).pool->since_dequeue = std::chrono::seconds(5);
    if (way == 0) pending_of(dump).pool->idle.push_back(9);
    if (way == 1) pending_of(dump).pool->existing = 4;  // one has just been made
    if (way == 2) pending_of(dump).pool->queued = 0;
    if (way >= 3) dump.threads[0].wait.reset(), dump.threads[0].kernel_state = 'R';
    if (way == 3) dump.threads[2].wait.reset(), dump.threads[2].kernel_state = 'R';
    if (way == 4) pending_of(dump).pool->busy.clear();
    if (way == 5) pending_of(dump).pool->since_dequeue.reset();  // of a core
    EXPECT_TRUE(judge(dump).empty()) << way;
  }
}

TEST(Starvation, WithoutProofItIsPossibleAfterAWhile) {
  ProcessDump dump = pool_of(2, 1);
  pending_of(dump).pool->since_dequeue = kLongSinceDequeue;
  const auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_FALSE(verdicts[0].is_certain);
  EXPECT_EQ(verdicts[0].steps.size(), 2u);
}

TEST(Starvation, APoolThatAddsWorkersForTheFewItemsItHasIsNotStarved) {
  ProcessDump dump = pool_of(3, 2);
  pending_of(dump).pool->since_dequeue = std::chrono::seconds(5);
  pending_of(dump).pool->max = 100;
  EXPECT_TRUE(judge(dump).empty());
  pending_of(dump).pool->max = 3;
  EXPECT_EQ(judge(dump).size(), 1u);
  pending_of(dump).pool->max = 100;
  pending_of(dump).pool->queued = 3;
  EXPECT_EQ(judge(dump).size(), 1u);
}

/// Among many workers, a newborn one has not reached its first wait.
TEST(Starvation, ANewbornWorkerMakesNoDifference) {
  ProcessDump first = pool_of(59, 107);
  pending_of(first).chains[1].is_queued = true;
  first.threads[58].wait.reset();
  first.threads[58].kernel_state = 'R';
  const auto before = judge(first);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_TRUE(before[0].is_certain);
  EXPECT_EQ(before[0].threads, 58u);
  ProcessDump second = first;
  EXPECT_EQ(lasting(first, before, second, judge(second), {}).size(), 1u) << "it has used hardly any time";
  second.threads[58].facts.cpu = std::chrono::milliseconds(900);
  EXPECT_TRUE(lasting(first, before, second, judge(second), {}).empty()) << "it works";
  first.threads[58].wait = first.threads[57].wait;
  EXPECT_EQ(lasting(first, judge(first), second, judge(second), {}).size(), 1u) << "it did not at both looks";
  pending_of(second).pool->busy.pop_back();  // counted, and not there yet
  EXPECT_EQ(lasting(first, judge(first), second, judge(second), {}).size(), 1u);
}

TEST(Starvation, WithoutProofMostMustHaveRested) {
  ProcessDump first = pool_of(20, 40);
  first.threads[19].wait.reset();
  first.threads[19].kernel_state = 'R';
  const auto before = judge(first);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_FALSE(before[0].is_certain);
  const std::vector<ThreadId> rested = must_rest(first, before[0]);
  EXPECT_EQ(rested.size(), 19u);
  EXPECT_EQ(lasting(first, before, first, before, rested).size(), 1u);
  EXPECT_TRUE(lasting(first, before, first, before, std::span(rested).first(16)).empty());
  ProcessDump second = first;
  pending_of(second).timers.emplace().next_due = std::chrono::seconds(-22);
  EXPECT_TRUE(must_rest(second, before[0]).empty()) << "nobody has run timers for long";
  EXPECT_EQ(lasting(second, before, second, judge(second), {}).size(), 1u);
}

TEST(Starvation, NewWorkersThatWaitAtOnceMakeNoDifference) {
  const ProcessDump first = pool_of(50, 1000), second = pool_of(60, 1400), third = pool_of(100, 900);
  const auto before = judge(first);
  const std::vector<ThreadId> rested = must_rest(first, before.front());
  EXPECT_EQ(lasting(first, before, second, judge(second), rested).size(), 1u);
  EXPECT_TRUE(lasting(first, before, second, judge(second), std::span(rested).first(40)).empty());
  EXPECT_TRUE(lasting(first, before, third, judge(third), rested).empty()) << "it grows faster than a pool does";
}

TEST(Starvation, OfACoreTheTimeIsNotKnown) {
  ProcessDump dump = pool_of(3, 5);
  pending_of(dump).pool->since_dequeue.reset();
  ASSERT_EQ(judge(dump).size(), 1u);
  EXPECT_FALSE(judge(dump).front().is_certain);
  dump.threads[1].wait.reset();
  dump.threads[1].kernel_state = 'S';
  EXPECT_TRUE(judge(dump).empty()) << "what one of them does is not known";
}

TEST(Starvation, WhatIsOnlyLikelyOrGivesUpProvesNothing) {
  for (int way = 0; way < 5; way++) {
    ProcessDump dump = pool_of(2, 2);
    pending_of(dump).chains[0].is_queued = true;
    if (way == 0) pending_of(dump).chains[0].proof = Proof::likely;
    if (way == 1) dump.threads[0].wait->proof = Proof::likely;
    if (way == 2) dump.threads[0].wait->timeout = std::chrono::milliseconds(100);
    if (way == 3) dump.threads[0].wait->kind = WaitKind::any_task;
    if (way == 4) pending_of(dump).chains[0].gives_up = true;
    ASSERT_EQ(judge(dump).size(), 1u) << way;
    EXPECT_FALSE(judge(dump).front().is_certain) << way;
  }
}

TEST(Starvation, LastsWhereTheSameWorkerStillWaits) {
  ProcessDump first = pool_of(2, 3);
  pending_of(first).chains[0].is_queued = true;
  ProcessDump second = first;
  EXPECT_EQ(lasting(first, judge(first), second, judge(second), {}).size(), 1u);
  second.threads[0].facts.cpu = std::chrono::milliseconds(5);
  EXPECT_TRUE(lasting(first, judge(first), second, judge(second), {}).empty()) << "it has gone on";
  ProcessDump third = pool_of(2, 3);
  EXPECT_TRUE(lasting(first, judge(first), third, judge(third), {}).empty());
}

TEST(Starvation, IsProvedByAnyTwoLooks) {
  ProcessDump first = pool_of(4, 30);
  pending_of(first).chains[0].is_queued = true;
  ProcessDump second = first;
  EXPECT_EQ(proved_starvation(first, second).size(), 1u);
  pending_of(second).pool->queued = 29;
  EXPECT_TRUE(proved_starvation(first, second).empty()) << "something was done";
  second = first;
  second.threads[0].facts.cpu = std::chrono::milliseconds(5);
  EXPECT_TRUE(proved_starvation(first, second).empty()) << "it has gone on";
  second = first;
  pending_of(second).chains[0].is_queued = false;
  EXPECT_TRUE(proved_starvation(first, second).empty()) << "possible, no more";
  ProcessDump few = pool_of(3, 30);
  pending_of(few).chains[0].is_queued = true;
  EXPECT_TRUE(proved_starvation(few, few).empty()) << "few workers take turns";
}

TEST(Starvation, APossibleOneLastsWhereAllOfThemStand) {
  ProcessDump first = pool_of(2, 3);
  pending_of(first).pool->since_dequeue = std::chrono::seconds(1);
  ProcessDump second = first;
  EXPECT_EQ(lasting(first, judge(first), second, judge(second), {}).size(), 1u);
  second.threads[1].wait->object.address = 0x9000;
  EXPECT_TRUE(lasting(first, judge(first), second, judge(second), {}).empty());
}

}  // namespace
}  // namespace mixstack::why
