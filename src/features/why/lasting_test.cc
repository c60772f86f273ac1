#include "features/why/lasting.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

/// Thread 1 waits for thread 2, and so do `more` others.
ProcessDump look(std::chrono::nanoseconds cpu, Address object = 0x1000, ThreadId more = 0) {
  ProcessDump dump;
  ThreadDump waiter, holder;
  waiter.tid = 1;
  waiter.facts.cpu = cpu;
  waiter.wait.emplace();
  waiter.wait->kind = WaitKind::monitor;
  waiter.wait->object.address = object;
  waiter.wait->owners = {2};
  holder.tid = 2;
  dump.threads = {waiter, holder};
  for (ThreadId i = 0; i < more; i++) {
    waiter.tid = 10 + i;
    dump.threads.push_back(waiter);
  }
  return dump;
}

const std::vector<Verdict> kChain{{VerdictKind::chain, true, {{1, 2}, {2, 0}}, 3}};
const std::vector<ThreadId> kThree{1, 10, 11};
using std::chrono::milliseconds;

TEST(Lasting, AThreadThatHoldsUpThreeWhichStand) {
  const auto first = look(milliseconds(5), 0x1000, 3), second = look(milliseconds(5), 0x1000, 3);
  EXPECT_EQ(must_rest(first, kChain[0]), (std::vector<ThreadId>{1, 10, 11, 12}));
  EXPECT_EQ(lasting(first, kChain, second, kChain, kThree).size(), 1u) << "whoever came later";
  const ThreadId two[] = {1, 10}, others[] = {1, 10, 77};
  EXPECT_TRUE(lasting(first, kChain, second, kChain, two).empty()) << "the others may have got it in between";
  EXPECT_TRUE(lasting(first, kChain, second, kChain, others).empty());
  EXPECT_TRUE(lasting(first, kChain, second, kChain, {}).empty());
}

TEST(Lasting, WhoWaitsBehindAWaiterIsHeldUp) {
  ProcessDump dump = look(milliseconds(5), 0x1000, 2);
  dump.threads[3].wait->owners = {10};
  EXPECT_EQ(lasting(dump, kChain, dump, kChain, kThree).size(), 1u);
  dump.threads[3].wait->owners = {77};
  EXPECT_TRUE(lasting(dump, kChain, dump, kChain, kThree).empty());
}

TEST(Lasting, WaitersThatGotOnAreNoChain) {
  const auto first = look(milliseconds(5), 0x1000, 2);
  EXPECT_TRUE(lasting(first, kChain, look(milliseconds(7), 0x1000, 2), kChain, kThree).empty());
  EXPECT_TRUE(lasting(first, kChain, look(milliseconds(5), 0x2000, 2), kChain, kThree).empty());
}

TEST(Lasting, AnotherHolderIsAnotherChain) {
  const std::vector<Verdict> other{{VerdictKind::chain, true, {{1, 10}, {10, 0}}, 3}};
  const auto both = look(milliseconds(5), 0x1000, 2);
  EXPECT_TRUE(lasting(both, kChain, both, other, kThree).empty());
  const std::vector<Verdict> gone{{VerdictKind::chain, true, {{1, 99}, {99, 0}}, 3}};
  EXPECT_TRUE(must_rest(both, gone[0]).empty());
  EXPECT_TRUE(lasting(both, gone, both, gone, kThree).empty());
}

TEST(Lasting, AnOwnerThatLetsGoIsSeenByAnotherOne) {
  ProcessDump dump = look(milliseconds(5), 0x1000, 2);
  EXPECT_FALSE(has_another_owner(dump, kChain[0]));
  dump.threads[0].wait->owners = {3};
  EXPECT_TRUE(has_another_owner(dump, kChain[0]));
  dump.threads[0].wait->owners = {3, 2};
  EXPECT_FALSE(has_another_owner(dump, kChain[0])) << "one of several readers";
  dump.threads[0].wait->owners.clear();
  EXPECT_FALSE(has_another_owner(dump, kChain[0])) << "at this moment nobody is seen";
  dump.threads[0].wait.reset();
  EXPECT_FALSE(has_another_owner(dump, kChain[0])) << "the thread did not stop in time, perhaps";
  EXPECT_FALSE(has_another_owner({}, kChain[0]));
}

TEST(Lasting, CyclesOfTheSameThreads) {
  const std::vector<Verdict> a{{VerdictKind::deadlock, false, {{1, 2}, {2, 1}}, 2}};
  const std::vector<Verdict> b{{VerdictKind::deadlock, false, {{2, 1}, {1, 2}}, 2}};
  const std::vector<Verdict> c{{VerdictKind::deadlock, false, {{2, 3}, {3, 2}}, 2}};
  EXPECT_EQ(lasting({}, a, {}, b, {}).size(), 1u);
  EXPECT_TRUE(lasting({}, a, {}, c, {}).empty());
}

TEST(Lasting, ACycleThatComesApartByItselfIsTheSameWhereItsObjectsAre) {
  const std::vector<Verdict> cycle{{VerdictKind::deadlock, false, {{1, 2}, {2, 1}}, 2}};
  const auto round = [](Address object, bool ends) {
    ProcessDump dump = look(milliseconds(5), object);
    dump.threads[1].wait = dump.threads[0].wait;
    if (ends) dump.threads[0].wait->timeout = milliseconds(100);
    return dump;
  };
  EXPECT_EQ(lasting(round(0x1000, true), cycle, round(0x1000, true), cycle, {}).size(), 1u);
  EXPECT_TRUE(lasting(round(0x1000, true), cycle, round(0x2000, true), cycle, {}).empty());
  EXPECT_EQ(lasting(round(0x1000, false), cycle, round(0x2000, false), cycle, {}).size(), 1u) << "it was moved";
}

TEST(Lasting, AThreadThatWaitsForItselfStands) {
  const std::vector<Verdict> own{{VerdictKind::deadlock, true, {{1, 1}}, 1}};
  EXPECT_EQ(lasting(look(milliseconds(5)), own, look(milliseconds(5)), own, {}).size(), 1u);
  EXPECT_TRUE(lasting(look(milliseconds(5)), own, look(milliseconds(5), 0x2000), own, {}).empty());
  EXPECT_TRUE(lasting(look(milliseconds(5)), own, look(milliseconds(9)), own, {}).empty());
}

/// A look at a thread that delays a suspension, in a call that it made from `sp`; another one is in managed code there.
ProcessDump delayed_by(Address sp, Address other = 0x5000) {
  ProcessDump dump;
  dump.threads.resize(2);
  dump.threads[0].tid = 2;
  dump.threads[1].tid = 4;
  Frame bystander;
  bystander.kind = FrameKind::managed;
  bystander.pc = CodeAddress::exact(other);
  dump.threads[1].trace.frames = {bystander};
  Frame native, managed;
  managed.kind = FrameKind::managed;
  managed.pc = CodeAddress::after_call(0x4000);
  managed.sp = sp;
  dump.threads[0].trace.frames = {native, managed};
  return dump;
}

TEST(Lasting, ASuspensionThatIsOverWasNone) {
  const std::vector<Verdict> a{{VerdictKind::stuck_suspension, false, {{1, 2}, {2, 0}}, 9}};
  const std::vector<Verdict> b{{VerdictKind::stuck_suspension, false, {{1, 3}, {3, 0}}, 9}};
  EXPECT_EQ(lasting(delayed_by(0x100), a, delayed_by(0x100), a, {}).size(), 1u);
  EXPECT_TRUE(lasting(delayed_by(0x100), a, delayed_by(0x100), b, {}).empty()) << "another one delays it";
  EXPECT_TRUE(lasting(delayed_by(0x100), a, delayed_by(0x200), a, {}).empty()) << "it has come back since";
  EXPECT_TRUE(lasting(delayed_by(0x100), a, delayed_by(0x100, 0x5004), a, {}).empty()) << "managed code ran in between";
  EXPECT_TRUE(lasting({}, {}, {}, a, {}).empty());
}

TEST(Lasting, AFinalizerWhoseThreadHasRunIsNotStuck) {
  const std::vector<Verdict> waits{{VerdictKind::blocked_finalizer, false, {{1, 2}, {2, 0}}, 1}};
  const ThreadId at_rest[] = {1}, another[] = {2};
  const auto first = look(milliseconds(5)), second = look(milliseconds(5) + std::chrono::microseconds(90));
  EXPECT_EQ(must_rest(first, waits[0]), std::vector<ThreadId>{1});
  EXPECT_EQ(lasting(first, waits, second, waits, at_rest).size(), 1u) << "what it ran is our stop";
  EXPECT_TRUE(lasting(first, waits, second, waits, {}).empty()) << "it may run one finalizer after the other";
  EXPECT_TRUE(lasting(first, waits, second, waits, another).empty());
  EXPECT_TRUE(lasting(first, waits, look(milliseconds(5), 0x2000), waits, at_rest).empty()) << "it has got on at last";
}

TEST(Lasting, AnOrphanedLockStaysWithItsWaiters) {
  const std::vector<Verdict> orphaned{{VerdictKind::orphaned_lock, true, {{1, 0}}, 1}};
  EXPECT_EQ(lasting(look(milliseconds(5)), orphaned, look(milliseconds(5)), orphaned, {}).size(), 1u);
  EXPECT_TRUE(lasting(look(milliseconds(5)), orphaned, look(milliseconds(7)), orphaned, {}).empty());
  EXPECT_TRUE(lasting(look(milliseconds(5)), orphaned, look(milliseconds(5), 0x2000), orphaned, {}).empty());
}

TEST(Lasting, WhatHasNotMoved) {
  const std::vector<Verdict> other{{VerdictKind::chain, true, {{1, 3}, {3, 0}}, 3}};
  const std::vector<Verdict> now{kChain[0], other[0]};
  Unmoved told = unmoved(look(milliseconds(5)), kChain, look(milliseconds(5)), now);
  EXPECT_EQ(told.threads, std::vector<std::uint32_t>{1});
  EXPECT_EQ(told.moved, 0u);
  EXPECT_EQ(told.verdicts, (std::vector<bool>{true, false}));
  told = unmoved(look(milliseconds(5)), kChain, look(milliseconds(7)), now);
  EXPECT_TRUE(told.threads.empty());
  EXPECT_EQ(told.moved, 1u);
  EXPECT_EQ(told.verdicts, (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace mixstack::why
