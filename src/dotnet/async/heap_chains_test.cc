#include "dotnet/async/heap_chains.h"

#include <gtest/gtest.h>

#include "dotnet/async/heap_reader.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

/// "Program.Get > Program.Load promise".
std::string words(const AsyncChain& chain) {
  std::string text;
  for (const AsyncStep& s : chain.steps)
    text += (text.empty() ? "" : " > ") + s.method.substr(s.method.find("Program.") + 8, s.method.find('(') - 13);
  return text + " " + std::string(to_string(chain.end)) + (chain.is_cut ? " cut" : "");
}

class HeapChainsTest : public ::testing::Test {
 protected:
  /// "count x words".
  std::vector<std::string> chains(const std::vector<AsyncChain>& told = {}) {
    const RuntimeMemory runtime = heap_.runtime();
    names::MethodNames names(runtime, {});
    LoadedTypes types(runtime, names);
    ManagedObjects objects(types);
    CodeManager code(runtime, heap_.contracts);
    HeapReader reader(objects, code, names, FakeHeap::kDacTable);
    reader.prepare();
    auto found = reader.read(heap_.memory, std::nullopt, told, 1 << 24);
    if (!found) return {found.error().text};
    found_ = std::move(*found);
    std::vector<std::string> all;
    for (const AsyncChain& c : found_.chains) all.push_back(std::to_string(c.count) + " x " + words(c));
    return all;
  }
  /// Get awaits Load, which awaits a promise.
  Address chain() {
    const Address upper = heap_.box(heap_.get_box), lower = heap_.box(heap_.load_box);
    heap_.await(upper, lower);
    heap_.await(lower, heap_.promise());
    return upper;
  }

  FakeHeap heap_;
  HeapFound found_;
};

TEST_F(HeapChainsTest, EqualChainsAreToldOnce) {
  for (int i = 0; i < 3; i++) (void)chain();
  const Address alone = heap_.box(heap_.get_box);
  heap_.await(alone, heap_.promise());
  EXPECT_EQ(chains(), (std::vector<std::string>{"3 x Get > Load promise", "1 x Get promise"}));
  EXPECT_EQ(found_.chains[0].proof, Proof::proved);
  EXPECT_EQ(found_.scan.suspended, 7U);
}

TEST_F(HeapChainsTest, WhatTasksStandForTellsChainsApart) {
  for (const Address type : {heap_.value_source, heap_.value_source, heap_.continuation})
    heap_.await(heap_.box(heap_.get_box), heap_.as_task(heap_.object(type, 32)));
  EXPECT_EQ(chains(), (std::vector<std::string>{"2 x Get source", "1 x Get source"}));
}

TEST_F(HeapChainsTest, ThreadsThatWaitForManyAreToldWithTheirNumber) {
  AsyncChain told;
  for (int i = 0; i < 5; i++) {
    const Address upper = chain();
    if (i < 4) heap_.memory.put_u64(upper + FakeHeap::kContinuation, heap_.object(heap_.event, 8));
  }
  EXPECT_EQ(chains(), (std::vector<std::string>{"5 x Get > Load promise"}));
  told = found_.chains[0];
  told.waiter = 12;
  told.count = 4;
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"1 x Get > Load promise"}));
  told.count = 3;
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"2 x Get > Load promise"}));
}

TEST_F(HeapChainsTest, SeveralThatAwaitOneAreAChainEach) {
  const Address shared = heap_.box(heap_.load_box);
  for (int i = 0; i < 4; i++) {
    const Address upper = heap_.box(heap_.get_box);
    heap_.await(upper, shared);  // the last one is the continuation that is kept
  }
  heap_.await(shared, heap_.promise());
  const auto all = chains();
  EXPECT_EQ(all, (std::vector<std::string>{"3 x Get > Load promise", "1 x Get > Load promise"}));
  EXPECT_EQ(found_.chains[0].proof, Proof::likely);
  EXPECT_EQ(found_.chains[1].proof, Proof::proved);
}

TEST_F(HeapChainsTest, CyclesAreTold) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
  heap_.await(a, b);
  heap_.await(b, a);
  const Address self = heap_.box(heap_.get_box);
  heap_.await(self, self);
  const auto all = chains();
  EXPECT_EQ(all, (std::vector<std::string>{"1 x Load > Get cycle", "1 x Get cycle"}));
  for (const AsyncChain& c : found_.chains) {
    EXPECT_EQ(c.proof, Proof::proved);
    EXPECT_EQ(c.awaited.address, c.steps.front().box);
  }
}

TEST_F(HeapChainsTest, CyclesOfTheSameMethodsAreCounted) {
  for (int i = 0; i < 3; i++) {
    const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
    heap_.await(a, b);
    heap_.await(b, a);
  }
  EXPECT_EQ(chains(), (std::vector<std::string>{"3 x Load > Get cycle"}));
}

TEST_F(HeapChainsTest, ACycleThroughTasksThatStandForOthers) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
  // Each awaits a promise that ends with the other; such promises name nobody.
  const Address of_a = heap_.joining(), of_b = heap_.joining();
  heap_.await(a, of_b);
  heap_.await(b, of_a);
  heap_.memory.put_u64(a + FakeHeap::kContinuation, of_a);
  heap_.memory.put_u64(b + FakeHeap::kContinuation, of_b);
  EXPECT_EQ(chains(), (std::vector<std::string>{"1 x Load > Get cycle"}));
  EXPECT_EQ(found_.chains[0].proof, Proof::proved);
}

TEST_F(HeapChainsTest, ACycleThroughOneOfSeveralThatAreAwaited) {
  // Get awaits a promise of three methods, the second of which awaits it; its own end is awaited elsewhere, too.
  const Address a = heap_.box(heap_.get_box), all = heap_.joining(), outside = heap_.box(heap_.get_box);
  heap_.await(a, all);
  for (int i = 0; i < 3; i++) {
    const Address b = heap_.box(heap_.load_box);
    heap_.await(b, i == 1 ? a : heap_.promise());
    heap_.memory.put_u64(b + FakeHeap::kContinuation, all);
  }
  heap_.await(outside, heap_.promise());
  const auto told = chains();
  EXPECT_EQ(std::count_if(told.begin(), told.end(), [](const auto& c) { return c.ends_with("cycle"); }), 1) << told[0];
  for (const AsyncChain& c : found_.chains)
    if (c.end == AsyncEnd::cycle) {
      EXPECT_EQ(c.steps.size(), 2u);
      EXPECT_EQ(c.proof, Proof::proved);
    }
}

TEST_F(HeapChainsTest, APromiseThatAnythingMayEndMakesNoCycle) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box);
  const Address any = heap_.promise();  // of Task.WhenAny, say: one of several is enough
  heap_.await(a, any);
  heap_.memory.put_u64(b + FakeHeap::kContinuation, any);
  heap_.await(b, a);
  for (const std::string& all : chains()) EXPECT_EQ(all.find("cycle"), std::string::npos) << all;
}

TEST_F(HeapChainsTest, WhoAwaitsACycleFromOutsideLeadsToIt) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box), outside = heap_.box(heap_.get_box);
  heap_.await(outside, a);
  heap_.await(a, b);
  heap_.await(b, a);
  EXPECT_EQ(chains(), (std::vector<std::string>{"1 x Get > Get > Load cycle"}));
  EXPECT_EQ(found_.chains[0].awaited.address, a);
}

TEST_F(HeapChainsTest, ACycleWhoseMethodHoldsUpItsOwnEndIsFound) {
  const Address a = heap_.box(heap_.get_box), b = heap_.box(heap_.load_box), below = heap_.box(heap_.get_box);
  heap_.await(below, heap_.promise());
  heap_.await(a, b);
  heap_.await(b, a);
  heap_.memory.put_u64(below + FakeHeap::kContinuation, a);  // as if by Task.WhenAll
  const auto all = chains();
  EXPECT_NE(std::find(all.begin(), all.end(), "1 x Load > Get cycle"), all.end());
}

TEST_F(HeapChainsTest, LongChainsAreCut) {
  Address above = heap_.box(heap_.get_box);
  for (int i = 0; i < 500; i++) {
    const Address below = heap_.box(heap_.load_box);
    heap_.await(above, below);
    above = below;
  }
  heap_.await(above, heap_.promise());
  (void)chains();
  std::size_t boxes = 0;
  for (const AsyncChain& c : found_.chains) {
    EXPECT_LE(c.steps.size(), 2 * AsyncChains::kMostSteps + 1);
    boxes += c.count * c.steps.size();
  }
  EXPECT_GE(boxes, 501U);
}

TEST_F(HeapChainsTest, WhatThreadsWaitForIsNotToldAgain) {
  const Address first = chain(), second = chain();
  AsyncChain told;
  told.waiter = 12;
  told.steps = {{"Shop.Program.Get()", first, 0}};
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"1 x Get > Load promise"}));
  // The objects have moved since: as many as are told, of those that threads wait for.
  const Address event = heap_.object(heap_.event, 8);
  heap_.memory.put_u64(first + FakeHeap::kContinuation, event);
  heap_.memory.put_u64(second + FakeHeap::kContinuation, event);
  told.steps = {{found_.chains[0].steps[0].method, 0x10, 0}, {found_.chains[0].steps[1].method, 0x20, 0}};
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"1 x Get > Load promise"}));
}

TEST_F(HeapChainsTest, WhatAPromiseDidNotNameIsToldWithItsWaiter) {
  const Address first = chain(), event = heap_.object(heap_.event, 8), promise = heap_.joining();
  (void)chain();
  heap_.memory.put_u64(first + FakeHeap::kContinuation, promise);
  heap_.memory.put_u64(promise + FakeHeap::kContinuation, event);
  AsyncChain told;
  told.waiter = 12;
  told.end = AsyncEnd::promise;
  told.awaited.address = promise;
  told.gives_up = true;
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"1 x Get > Load promise", "1 x Get > Load promise"}));
  const auto waited = found_.chains[0].waiter != 0 ? 0u : 1u;
  EXPECT_EQ(found_.chains[waited].waiter, 12u);
  EXPECT_TRUE(found_.chains[waited].gives_up);
  EXPECT_EQ(found_.chains[waited].proof, Proof::proved);
  EXPECT_EQ(found_.chains[1 - waited].waiter, 0u);
  EXPECT_FALSE(found_.chains[1 - waited].gives_up);
  EXPECT_EQ(found_.explained, std::unordered_set<Address>{promise});
  told.awaited.address = event;
  EXPECT_EQ(chains({told}), (std::vector<std::string>{"2 x Get > Load promise"}));
}

TEST_F(HeapChainsTest, GarbageInEveryWordIsSurvived) {
  for (int i = 0; i < 8; i++) (void)chain();
  const AddressRange region = heap_.region();
  for (const std::uint64_t garbage :
       {std::uint64_t{0}, ~std::uint64_t{0}, region.begin + 8, region.end - 8, heap_.get_box, heap_.task + 4}) {
    for (Address at = region.begin; at < region.end; at += 8) {
      const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
      heap_.memory.put_u64(at, garbage);
      (void)chains();
      EXPECT_LE(found_.scan.suspended + found_.scan.running, 17U);
      heap_.memory.put_u64(at, before);
    }
  }
  EXPECT_EQ(chains(), (std::vector<std::string>{"8 x Get > Load promise"}));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
