#include "features/why/async_cycles.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

ProcessDump posted() {
  ProcessDump dump;
  PendingWork& pending = dump.runtimes.emplace_back().pending.emplace();
  pending.pool.emplace();
  AsyncChain& chain = pending.chains.emplace_back();
  chain.waiter = 4;
  chain.steps.push_back({"Db.ReadRow()", 0x1000, 0});
  chain.end = AsyncEnd::completed;
  chain.context = "Shop.OneThread";
  return dump;
}

std::vector<Verdict> cycles(const ProcessDump& dump) {
  std::vector<Verdict> verdicts;
  add_async_cycles(dump, verdicts);
  return verdicts;
}

TEST(AsyncCycles, WhatWasPostedToTheWaitingThread) {
  const auto verdicts = cycles(posted());
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
  EXPECT_FALSE(verdicts[0].is_certain);
  ASSERT_EQ(verdicts[0].steps.size(), 1u);
  EXPECT_EQ(verdicts[0].steps[0].thread, 4u);
}

TEST(AsyncCycles, WhatSomebodyElseMayRunIsNone) {
  for (int way = 0; way < 7; way++) {
    ProcessDump dump = posted();
    AsyncChain& chain = dump.runtimes.front().pending->chains.front();
    if (way == 0) chain.context.clear();
    if (way == 1) chain.is_queued = true;
    if (way == 2) chain.runner = 5;
    if (way == 3) chain.end = AsyncEnd::delay;
    if (way == 4) chain.proof = Proof::likely;
    if (way == 5) dump.runtimes.front().pending->pool->has_more = true;
    if (way == 6) chain.waiter = 0;
    EXPECT_TRUE(cycles(dump).empty()) << way;
  }
}

TEST(AsyncCycles, WhoWaitsForAnyOfSeveralIsInNone) {
  ProcessDump dump = posted();
  ThreadDump& thread = dump.threads.emplace_back();
  thread.tid = 4;
  thread.wait.emplace().kind = WaitKind::any_task;
  EXPECT_TRUE(cycles(dump).empty());
  thread.wait->kind = WaitKind::all_tasks;
  EXPECT_EQ(cycles(dump).size(), 1u);
}

TEST(AsyncCycles, WhatItsOwnSchedulerIsToRun) {
  for (const bool has_begun : {false, true}) {
    ProcessDump dump = posted();
    AsyncChain& chain = dump.runtimes.front().pending->chains.front();
    chain.context.clear();
    chain.scheduler = "Shop.Grains";
    if (!has_begun) {
      chain.steps.clear();
      chain.end = AsyncEnd::work;
    }
    EXPECT_EQ(cycles(dump).size(), 1u);
    chain.runner = 5;
    EXPECT_TRUE(cycles(dump).empty());
  }
}

TEST(AsyncCycles, AThreadOfACycleIsToldOnce) {
  std::vector<Verdict> verdicts{{VerdictKind::deadlock, true, {{4, 5}, {5, 4}}, 2}};
  add_async_cycles(posted(), verdicts);
  EXPECT_EQ(verdicts.size(), 1u);
}

}  // namespace
}  // namespace mixstack::why
