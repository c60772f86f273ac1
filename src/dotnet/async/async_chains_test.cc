#include "dotnet/async/async_chains.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

class AsyncChainsTest : public ::testing::Test {
 protected:
  AsyncChain below(Address task) {
    StateMachines machines(objects_, delegates_);
    return AsyncChains(objects_, delegates_, machines, std::nullopt).below(task);
  }
  std::vector<Address> way_up(Address task) {
    StateMachines machines(objects_, delegates_);
    return AsyncChains(objects_, delegates_, machines, std::nullopt).way_up(task);
  }

  FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
};

TEST_F(AsyncChainsTest, DownToAPromiseAndUpAgain) {
  const Address upper = heap_.box(heap_.get_box), lower = heap_.box(heap_.load_box), promise = heap_.promise();
  heap_.await(upper, lower);
  heap_.await(lower, promise);
  const AsyncChain chain = below(upper);
  ASSERT_EQ(chain.steps.size(), 2u);
  EXPECT_EQ(chain.steps[0].box, upper);
  EXPECT_EQ(chain.steps[1].box, lower);
  EXPECT_EQ(chain.end, AsyncEnd::promise);
  EXPECT_EQ(chain.awaited.address, promise);
  EXPECT_EQ(chain.proof, Proof::proved);
  EXPECT_EQ(way_up(promise), (std::vector<Address>{promise, lower, upper}));
}

TEST_F(AsyncChainsTest, WhatDoesNotPointBackIsLikely) {
  const Address upper = heap_.box(heap_.get_box), promise = heap_.promise();
  heap_.await(upper, promise);
  heap_.memory.put_u64(promise + FakeHeap::kContinuation, 0);
  EXPECT_EQ(below(upper).proof, Proof::likely);
}

TEST_F(AsyncChainsTest, WhatHasATimeOutGivesUp) {
  const Address upper = heap_.box(heap_.get_box), lower = heap_.box(heap_.load_box);
  heap_.await(lower, heap_.promise());
  const Address limited = heap_.limited(lower);
  EXPECT_TRUE(below(limited).gives_up);
  EXPECT_EQ(below(limited).steps.size(), 1u);
  EXPECT_FALSE(below(lower).gives_up);
  heap_.await(upper, limited);
  const AsyncChain chain = below(upper);
  EXPECT_EQ(chain.steps.size(), 2u);
  EXPECT_EQ(chain.end, AsyncEnd::promise);
  EXPECT_TRUE(chain.gives_up);
  EXPECT_EQ(chain.proof, Proof::proved);
}

TEST_F(AsyncChainsTest, ATaskMayStandForASourceOfAValue) {
  const Address upper = heap_.box(heap_.get_box), source = heap_.object(heap_.value_source, 16);
  const Address task = heap_.as_task(source);
  heap_.await(upper, task);
  const AsyncChain chain = below(upper);
  EXPECT_EQ(chain.steps.size(), 1u);
  EXPECT_EQ(chain.end, AsyncEnd::source);
  EXPECT_EQ(chain.awaited.address, source);
  EXPECT_EQ(chain.awaited.type, "Shop.Source");
  EXPECT_EQ(chain.proof, Proof::proved);
  EXPECT_EQ(way_up(source), (std::vector<Address>{source, task, upper}));
  heap_.memory.put_u64(task + FakeHeap::kSource, 0);
  const AsyncChain cut = below(upper);
  EXPECT_EQ(cut.end, AsyncEnd::source) << "it is of a class of its own";
  EXPECT_EQ(cut.awaited.address, task);
  heap_.memory.put_u64(task + FakeHeap::kSource, heap_.box(heap_.load_box));
  EXPECT_EQ(below(upper).steps.size(), 2u) << "a method that is used again may be the source";
}

TEST_F(AsyncChainsTest, TasksThatEndWithOthers) {
  StateMachines machines(objects_, delegates_);
  AsyncChains chains(objects_, delegates_, machines, std::nullopt);
  EXPECT_TRUE(chains.joins_others(heap_.joining()));
  EXPECT_FALSE(chains.joins_others(heap_.promise()));
  EXPECT_FALSE(chains.joins_others(heap_.box(heap_.get_box)));
  EXPECT_FALSE(chains.joins_others(0x1234560));
}

TEST_F(AsyncChainsTest, CyclesEndAtTheirFirstMethod) {
  const Address outer = heap_.box(heap_.get_box), a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
  heap_.await(outer, a);
  heap_.await(a, b);
  heap_.await(b, a);
  const AsyncChain chain = below(a);
  EXPECT_EQ(chain.end, AsyncEnd::cycle);
  EXPECT_FALSE(chain.is_cut);
  EXPECT_EQ(chain.steps.size(), 2u);
  EXPECT_EQ(chain.awaited.address, a);
  EXPECT_EQ(chain.proof, Proof::proved);
  EXPECT_EQ(way_up(a).size(), 2u);
  const AsyncChain entered = below(outer);
  EXPECT_EQ(entered.end, AsyncEnd::cycle);
  EXPECT_EQ(entered.steps.size(), 3u);
  EXPECT_EQ(entered.awaited.address, a);
  EXPECT_EQ(entered.proof, Proof::likely) << "the cycle's first goes on with b, as it says itself";
}

TEST_F(AsyncChainsTest, AMethodMayAwaitItself) {
  const Address self = heap_.box(heap_.get_box);
  heap_.await(self, self);
  const AsyncChain chain = below(self);
  EXPECT_EQ(chain.end, AsyncEnd::cycle);
  EXPECT_EQ(chain.steps.size(), 1u);
  EXPECT_EQ(chain.awaited.address, self);
  EXPECT_EQ(chain.proof, Proof::proved);
}

TEST_F(AsyncChainsTest, WhoHasGoneOnIsInNoCycle) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
  heap_.await(a, b);
  heap_.await(b, a);
  heap_.memory.put_u32(b + FakeHeap::kMachine + FakeHeap::kState, 0xffffffff);
  EXPECT_EQ(below(a).end, AsyncEnd::running);
  heap_.memory.put_u32(b + FakeHeap::kFlags, FakeHeap::kRanToCompletion);
  EXPECT_EQ(below(a).end, AsyncEnd::completed);
}

TEST_F(AsyncChainsTest, TwoChainsThatWereJoinedMayBeACycle) {
  StateMachines machines(objects_, delegates_);
  AsyncChains chains(objects_, delegates_, machines, std::nullopt);
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box), c = heap_.box(heap_.get_box);
  AsyncChain chain;
  chain.steps = {{"Outer()", c, 0}, {"Get()", a, 0}, {"Load()", b, 0}, {"Get()", a, 0}, {"Load()", b, 0}};
  chain.end = AsyncEnd::all_tasks;
  chain.proof = Proof::proved;
  AsyncChain apart = chain;
  apart.steps.resize(3);
  chains.close_joined(2, apart);
  EXPECT_EQ(apart.end, AsyncEnd::all_tasks);
  EXPECT_EQ(apart.steps.size(), 3u);
  chains.close_joined(3, chain);
  EXPECT_EQ(chain.end, AsyncEnd::cycle);
  EXPECT_EQ(chain.steps.size(), 3u);
  EXPECT_EQ(chain.awaited.address, a);
  EXPECT_EQ(chain.proof, Proof::proved);
}

TEST_F(AsyncChainsTest, LongOnesAreCut) {
  const Address first = heap_.box(heap_.get_box);
  Address above = first;
  for (int i = 0; i < 200; i++) {
    const Address next = heap_.box(heap_.load_box);
    heap_.await(above, next);
    above = next;
  }
  const AsyncChain chain = below(first);
  EXPECT_TRUE(chain.is_cut);
  EXPECT_EQ(chain.steps.size(), AsyncChains::kMostSteps);
  EXPECT_EQ(way_up(above).size(), AsyncChains::kMostSteps);
}

TEST_F(AsyncChainsTest, RunningAndEnded) {
  const Address box = heap_.box(heap_.get_box);
  heap_.memory.put_u32(box + FakeHeap::kMachine + FakeHeap::kState, 0xffffffff);
  EXPECT_EQ(below(box).end, AsyncEnd::running);
  heap_.memory.put_u32(box + FakeHeap::kFlags, FakeHeap::kRanToCompletion);
  EXPECT_EQ(below(box).end, AsyncEnd::completed);
  EXPECT_TRUE(below(0x1234560).steps.empty());
}

TEST_F(AsyncChainsTest, AwaitersThatPointAtTablesOfTypesAreNone) {
  const Address box = heap_.box(heap_.get_box);
  const Address row = heap_.object(heap_.object_type, 64);  // words of an array: version, MethodTable, ...
  heap_.memory.put_u64(row + 16, 0x0000000500000005);
  heap_.memory.put_u64(row + 24, heap_.task);
  heap_.memory.put_u64(box + FakeHeap::kMachine + FakeHeap::kAwaiter, row + 24);
  EXPECT_EQ(below(box).end, AsyncEnd::yielded);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
