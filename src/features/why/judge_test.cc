#include "features/why/judge.h"

#include <gtest/gtest.h>

#include "features/why/wait_graph.h"

namespace mixstack::why {
namespace {

ThreadDump thread(ThreadId tid) {
  ThreadDump t;
  t.tid = t.ns_tid = tid;
  return t;
}

ThreadDump waiting(ThreadId tid, std::vector<std::uint32_t> owners, Proof proof = Proof::recorded,
                   WaitKind kind = WaitKind::monitor) {
  ThreadDump t = thread(tid);
  t.wait.emplace();
  t.wait->kind = kind;
  t.wait->proof = proof;
  t.wait->owners = std::move(owners);
  return t;
}

ProcessDump dump_of(std::vector<ThreadDump> threads) {
  ProcessDump dump;
  dump.threads = std::move(threads);
  return dump;
}

TEST(Judge, TwoThatWaitForEachOther) {
  const auto verdicts = judge(dump_of({waiting(1, {2}), waiting(2, {1}), waiting(3, {1}), thread(4)}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
  EXPECT_TRUE(verdicts[0].is_certain);
  ASSERT_EQ(verdicts[0].steps.size(), 2u);
  EXPECT_EQ(verdicts[0].steps[0].thread, verdicts[0].steps[1].waits_for);
  EXPECT_EQ(verdicts[0].steps[1].thread, verdicts[0].steps[0].waits_for);
  EXPECT_EQ(verdicts[0].threads, 3u) << "the two and the one behind them";
}

TEST(Judge, AStepThatIsOnlyLikelyMakesItPossible) {
  const auto verdicts = judge(dump_of({waiting(1, {2}), waiting(2, {1}, Proof::likely)}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
  EXPECT_FALSE(verdicts[0].is_certain);
}

TEST(Judge, AnEventMayBeSetByOthers) {
  ProcessDump dump = dump_of({waiting(1, {2}), waiting(2, {1}, Proof::proved, WaitKind::wait_handle), waiting(3, {2}),
                              waiting(4, {2}, Proof::proved, WaitKind::wait_handle)});
  dump.threads[1].wait->object.type = "System.Threading.ManualResetEvent";
  ASSERT_EQ(judge(dump).size(), 1u);
  EXPECT_FALSE(judge(dump)[0].is_certain);
  dump.threads[1].wait->object.type = "System.Threading.Mutex";
  EXPECT_TRUE(judge(dump)[0].is_certain);
}

TEST(Judge, AWaitThatGivesUpMakesItPossible) {
  for (const bool is_told_when : {true, false}) {
    ThreadDump second = waiting(2, {1});
    second.wait->gives_up = !is_told_when;
    if (is_told_when) second.wait->timeout = std::chrono::milliseconds(500);
    const auto verdicts = judge(dump_of({waiting(1, {2}), second}));
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_FALSE(verdicts[0].is_certain);
  }
}

/// Thread 1 waits for a task at the end of whose chain thread 2 runs.
ProcessDump dump_with_chain(std::vector<ThreadDump> threads) {
  ProcessDump dump = dump_of(std::move(threads));
  AsyncChain& chain = dump.runtimes.emplace_back().pending.emplace().chains.emplace_back();
  chain.waiter = 1;
  chain.runner = 2;
  chain.end = AsyncEnd::running;
  return dump;
}

TEST(Judge, AChainThatIsLikelyOrGivesUpMakesItPossible) {
  for (const bool gives_up : {false, true}) {
    ProcessDump dump = dump_with_chain({waiting(1, {}, Proof::proved, WaitKind::task), waiting(2, {1})});
    AsyncChain& chain = dump.runtimes.front().pending->chains.front();
    chain.gives_up = gives_up;
    chain.proof = gives_up ? Proof::proved : Proof::likely;
    const auto verdicts = judge(dump);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
    EXPECT_FALSE(verdicts[0].is_certain);
    EXPECT_EQ(verdicts[0].steps.size(), 2u);
    dump.threads[0].wait->kind = WaitKind::any_task;
    EXPECT_TRUE(judge(dump).empty()) << "another of them may end";
    dump.threads[0].wait.reset();
    EXPECT_TRUE(judge(dump).empty());
  }
}

TEST(Judge, ASureCycleIsNotHiddenByAnotherOne) {
  ProcessDump dump =
      dump_with_chain({waiting(1, {3}, Proof::proved, WaitKind::all_tasks), waiting(2, {1}), waiting(3, {1})});
  dump.runtimes.front().pending->chains.front().proof = Proof::likely;
  const auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].is_certain);
  EXPECT_EQ(verdicts[0].threads, 3u);
}

TEST(Judge, ManyBehindOneThroughALikelyChain) {
  ProcessDump dump = dump_with_chain(
      {waiting(1, {}, Proof::proved, WaitKind::task), thread(2), waiting(3, {1}), waiting(4, {1}), waiting(5, {1})});
  dump.runtimes.front().pending->chains.front().proof = Proof::likely;
  const auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::chain);
  EXPECT_FALSE(verdicts[0].is_certain);
  EXPECT_EQ(verdicts[0].threads, 4u);
}

TEST(Judge, WhoWaitsForTheEndOfATaskOrThreadIsNotHeldUp) {
  const auto host = [](ThreadId tid, WaitKind kind) { return waiting(tid, {9}, Proof::proved, kind); };
  std::vector<ThreadDump> threads{host(1, WaitKind::task), host(2, WaitKind::thread_join), host(3, WaitKind::all_tasks),
                                  host(4, WaitKind::task), thread(9)};
  EXPECT_TRUE(judge(dump_of(threads)).empty());
  // Behind one that wants a lock they are.
  threads.push_back(waiting(5, {8}));
  threads.push_back(thread(8));
  for (std::size_t i = 0; i < 2; i++) threads[i].wait->owners = {5};
  const auto verdicts = judge(dump_of(threads));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::chain);
  EXPECT_EQ(verdicts[0].steps.back().thread, 8u);
  EXPECT_EQ(verdicts[0].threads, 3u);
}

TEST(Judge, OneThatWaitsForItself) {
  const auto verdicts = judge(dump_of({waiting(1, {1}, Proof::proved, WaitKind::task), waiting(2, {1})}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
  EXPECT_TRUE(verdicts[0].is_certain);
  ASSERT_EQ(verdicts[0].steps.size(), 1u);
  EXPECT_EQ(verdicts[0].steps[0].thread, 1u);
  EXPECT_EQ(verdicts[0].steps[0].waits_for, 1u);
  EXPECT_EQ(verdicts[0].threads, 2u);
}

TEST(Judge, ALockWhoseOwnerHasEnded) {
  ThreadDump first = waiting(1, {}), second = waiting(2, {}), other = waiting(3, {});
  first.wait->object.address = second.wait->object.address = 0x1000;
  other.wait->object.address = 0x2000;
  EXPECT_TRUE(judge(dump_of({first, second, other})).empty()) << "whose owner is not known";
  for (ThreadDump* t : {&first, &second, &other}) t->wait->owner_has_ended = true;
  other.wait->timeout = std::chrono::milliseconds(500);
  const auto verdicts = judge(dump_of({first, second, other}));
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::orphaned_lock);
  EXPECT_TRUE(verdicts[0].is_certain);
  EXPECT_EQ(verdicts[0].threads, 2u);
  EXPECT_EQ(verdicts[0].steps.size(), 2u);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::orphaned_lock);
  EXPECT_FALSE(verdicts[1].is_certain) << "who waits for it gives up";
}

TEST(Judge, AnyOfSeveralIsNoCycle) {
  EXPECT_TRUE(judge(dump_of({waiting(1, {2}, Proof::proved, WaitKind::any_task), waiting(2, {1})})).empty());
}

TEST(Judge, ManyBehindOne) {
  const auto verdicts = judge(dump_of({waiting(1, {9}), waiting(2, {9}), waiting(3, {2}), thread(9)}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::chain);
  EXPECT_EQ(verdicts[0].threads, 3u);
  EXPECT_EQ(verdicts[0].steps.back().thread, 9u);
  EXPECT_EQ(verdicts[0].steps.back().waits_for, 0u);
}

TEST(Judge, TwoBehindOneAreNoVerdict) {
  EXPECT_TRUE(judge(dump_of({waiting(1, {9}), waiting(2, {9}), thread(9)})).empty());
}

TEST(Judge, AReaderWriterLockIsWaitedForForEverUnlessTheCallHasATime) {
  ProcessDump dump = dump_of({waiting(1, {2}, Proof::proved, WaitKind::reader_writer_lock),
                              waiting(2, {1}, Proof::proved, WaitKind::reader_writer_lock)});
  auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].is_certain);
  dump.threads[0].wait->gives_up = true;
  verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_FALSE(verdicts[0].is_certain);
  EXPECT_TRUE(verdicts[0].may_time_out);
}

TEST(Judge, WhoLetsNoCollectionBegin) {
  ProcessDump dump = dump_of({thread(1), thread(2)});
  dump.runtimes.emplace_back().suspension = Suspension{1, {2}};
  const auto verdicts = judge(dump);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::stuck_suspension);
  EXPECT_FALSE(verdicts[0].is_certain) << "one look cannot tell how long";
  dump.runtimes.front().suspension->waits_for.clear();
  EXPECT_TRUE(judge(dump).empty()) << "a collection that runs";
}

TEST(Judge, CertainOnesFirst) {
  const auto verdicts =
      judge(dump_of({waiting(1, {2}), waiting(2, {1}, Proof::likely), waiting(3, {4}), waiting(4, {3})}));
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_TRUE(verdicts[0].is_certain);
  EXPECT_FALSE(verdicts[1].is_certain);
}

TEST(WaitGraph, ARingOfManyIsOneCycle) {
  std::vector<ThreadDump> threads;
  constexpr ThreadId kMany = 2000;
  for (ThreadId i = 0; i < kMany; i++) threads.push_back(waiting(i + 1, {(i + 1) % kMany + 1}));
  const ProcessDump dump = dump_of(std::move(threads));
  const auto cycles = WaitGraph(dump).cycles();
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0].size(), kMany);
}

TEST(WaitGraph, OwnersThatAreNotThereAreNoEdges) {
  const ProcessDump dump = dump_of({waiting(1, {77})});
  const WaitGraph graph(dump);
  EXPECT_TRUE(graph.edges(0).empty());
}

}  // namespace
}  // namespace mixstack::why
