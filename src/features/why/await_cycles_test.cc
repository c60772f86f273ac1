#include "features/why/await_cycles.h"

#include <gtest/gtest.h>

#include "features/why/judge.h"
#include "features/why/lasting.h"

namespace mixstack::why {
namespace {

/// Outer awaits A, which awaits B, which awaits A.
AsyncChain chain(Address a = 0x1000, Address b = 0x2000) {
  AsyncChain chain;
  chain.steps = {{"Shop.Outer()", 0x3000, 0}, {"Shop.A()", a, 1}, {"Shop.B()", b, 0}};
  chain.end = AsyncEnd::cycle;
  chain.awaited.address = a;
  return chain;
}

ProcessDump dump_of(std::vector<AsyncChain> chains) {
  ProcessDump dump;
  dump.runtimes.emplace_back().pending.emplace().chains = std::move(chains);
  return dump;
}

TEST(AwaitCycles, ItsMethodsAreTold) {
  const auto verdicts = judge(dump_of({chain()}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::await_cycle);
  EXPECT_TRUE(verdicts[0].is_certain);
  EXPECT_TRUE(verdicts[0].steps.empty());
  EXPECT_EQ(verdicts[0].threads, 0u);
  ASSERT_EQ(verdicts[0].methods.size(), 2u);
  EXPECT_EQ(verdicts[0].methods[0].method, "Shop.A()");
  EXPECT_EQ(verdicts[0].methods[1].method, "Shop.B()");
}

TEST(AwaitCycles, OneIsToldOnceWithAllThatWaitForIt) {
  AsyncChain first = chain(), second = chain();
  first.waiter = 7;
  // Entered at the other of the two.
  second.steps = {{"Shop.B()", 0x2000, 0}, {"Shop.A()", 0x1000, 1}};
  second.awaited.address = 0x2000;
  second.waiter = 8;
  const auto verdicts = judge(dump_of({first, second, chain(0x7000, 0x8000)}));
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].threads, 2u);
  ASSERT_EQ(verdicts[0].steps.size(), 2u);
  EXPECT_EQ(verdicts[0].steps[0].thread, 7u);
  EXPECT_EQ(verdicts[0].steps[1].thread, 8u);
  EXPECT_EQ(verdicts[1].threads, 0u);
}

TEST(AwaitCycles, AThreadThatWaitsForTwoOfItsMethodsIsOne) {
  AsyncChain first = chain(), second = chain();
  second.steps = {{"Shop.B()", 0x2000, 0}, {"Shop.A()", 0x1000, 1}};
  second.awaited.address = 0x2000;
  first.waiter = second.waiter = 7;
  const auto verdicts = judge(dump_of({first, second}));
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].threads, 1u);
  EXPECT_EQ(verdicts[0].steps.size(), 1u);
}

TEST(AwaitCycles, WhatIsLikelyOrGivesUpIsPossible) {
  AsyncChain likely = chain(), gives_up = chain();
  likely.proof = Proof::likely;
  gives_up.gives_up = true;
  for (const AsyncChain& c : {likely, gives_up}) {
    const auto verdicts = judge(dump_of({c}));
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_FALSE(verdicts[0].is_certain);
  }
  EXPECT_TRUE(judge(dump_of({likely, chain()})).front().is_certain) << "proved on one of the ways to it";
}

TEST(AwaitCycles, ChainsThatEndElsewhereAreNone) {
  AsyncChain cut = chain(), other = chain(), elsewhere = chain();
  cut.end = AsyncEnd::unknown;
  cut.is_cut = true;
  other.end = AsyncEnd::promise;
  elsewhere.awaited.address = 0x9000;
  EXPECT_TRUE(judge(dump_of({cut, other, elsewhere})).empty());
}

TEST(AwaitCycles, WhatTheHeapTellsTakesThePlaceOfWhatWasTold) {
  const ProcessDump before = dump_of({chain()});
  std::vector<Verdict> verdicts = judge(before);
  verdicts.push_back({VerdictKind::deadlock, true, {{4, 5}, {5, 4}}, 2, {}, 1});
  AsyncChain all = chain(0x7000, 0x8000);
  all.count = 12;
  add_from_heap(dump_of({all}), verdicts);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::deadlock);
  EXPECT_EQ(verdicts[1].cycles, 12u);
  EXPECT_EQ(verdicts[1].methods[0].box, 0x7000u);
}

TEST(AwaitCycles, TheyLastThoughObjectsMove) {
  const ProcessDump first = dump_of({chain()}), second = dump_of({chain(0x7000, 0x8000)});
  EXPECT_EQ(lasting(first, judge(first), second, judge(second), {}).size(), 1u);
  AsyncChain other = chain();
  other.steps[2].method = "Shop.C()";
  const ProcessDump third = dump_of({other});
  EXPECT_TRUE(lasting(first, judge(first), third, judge(third), {}).empty());
}

}  // namespace
}  // namespace mixstack::why
