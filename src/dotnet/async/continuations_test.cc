#include "dotnet/async/continuations.h"

#include <gtest/gtest.h>

#include "dotnet/async/async_callers.h"
#include "dotnet/async/async_chains.h"
#include "dotnet/async/heap_reader.h"
#include "support/fake_runtime_async_11.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeRuntimeAsync11;

class ContinuationsTest : public ::testing::Test {
 protected:
  /// Everything anew: what was read before is forgotten.
  struct Readers {
    explicit Readers(FakeRuntimeAsync11& heap)
        : names(heap.runtime(), {}),
          types(heap.runtime(), names),
          objects(types),
          code(heap.runtime(), heap.contracts) {}
    names::MethodNames names;
    LoadedTypes types;
    ManagedObjects objects;
    CodeManager code;
    Delegates delegates{objects, code, names};
    StateMachines machines{objects, delegates};
    AsyncChains chains{objects, delegates, machines, std::nullopt};
  };
  AsyncChain below(Address task) { return Readers(heap_).chains.below(task); }
  static std::string short_name(std::string method) {
    method = method.substr(0, method.find('('));
    return method.starts_with("Shop.") ? method.substr(method.rfind('.') + 1) : method;
  }
  /// "GetOrder 2 > ReadRow 1 promise".
  static std::string words(const AsyncChain& chain) {
    std::string text;
    for (const AsyncStep& s : chain.steps)
      text += (text.empty() ? "" : " > ") + short_name(s.method) + " " + std::to_string(s.state);
    return text + (text.empty() ? "" : " ") + std::string(to_string(chain.end)) + (chain.is_cut ? " cut" : "") +
           (chain.proof == Proof::likely ? " likely" : "");
  }

  FakeRuntimeAsync11 heap_;
};

TEST_F(ContinuationsTest, DownAndUp) {
  const Address promise = heap_.promise(), task = heap_.chain_of_11(promise);
  const AsyncChain chain = below(task);
  EXPECT_EQ(words(chain), "GetOrder 2 > ReadRow 1 promise");
  EXPECT_EQ(chain.awaited.address, promise);
  EXPECT_EQ(chain.steps[1].box, task);
  EXPECT_EQ(Readers(heap_).chains.way_up(promise), (std::vector<Address>{promise, task}));
}

TEST_F(ContinuationsTest, BetweenMethodsWithStateMachines) {
  const Address lower = heap_.box(heap_.load_box), task = heap_.chain_of_11(lower), upper = heap_.box(heap_.get_box);
  heap_.await(upper, task);
  heap_.await(lower, heap_.promise());
  EXPECT_EQ(words(below(upper)), "Get 0 > GetOrder 2 > ReadRow 1 > Load 0 promise");
  heap_.memory.put_u64(heap_.memory.read<Address>(task + FakeRuntimeAsync11::kStateObject).value_or(0) +
                           FakeRuntimeAsync11::kRuntimeAsyncTask,
                       task);
  EXPECT_EQ(Readers(heap_).chains.way_up(lower), (std::vector<Address>{lower, task, upper}));
}

TEST_F(ContinuationsTest, SourcesOfValuesAreAwaitedAsTheirObjectSays) {
  const Address source = heap_.object(heap_.event, 8);
  const Address task = heap_.task_of(heap_.awaits_source(source, heap_.suspended_at(heap_.read_row(), 0)));
  EXPECT_EQ(words(below(task)), "ReadRow 0 source likely") << "nothing of the source names the task";
  EXPECT_EQ(below(task).awaited.address, source);
}

TEST_F(ContinuationsTest, WhatTheRuntimePutsBetweenMethodsIsNone) {
  const Address promise = heap_.promise();
  const Address head = heap_.awaits_task(
      promise, heap_.suspended_at(heap_.read_row(), heap_.suspended_at(heap_.thunk_of_get_order(), 0)));
  EXPECT_EQ(words(below(heap_.task_of(head))), "ReadRow 0 promise likely");
}

TEST_F(ContinuationsTest, UnusedOnesCyclesAndForgeries) {
  const Address unused = heap_.task_of(heap_.awaits_task(0, heap_.suspended_at(heap_.read_row(), 0)));
  EXPECT_EQ(words(below(unused)), "ReadRow 0 yielded");
  const Address cycle = heap_.suspended_at(heap_.read_row(), 0);
  heap_.memory.put_u64(cycle + FakeRuntimeAsync11::kNext11, cycle);
  EXPECT_EQ(words(below(heap_.task_of(cycle))), "ReadRow 0 yielded cut");
  const Address nowhere = heap_.suspended_at(0x1230, heap_.suspended_at(heap_.get_order(), 0));
  EXPECT_EQ(words(below(heap_.task_of(nowhere))), "GetOrder 0 yielded cut");
  // The task goes on by another object than the one that names it.
  const Address promise = heap_.promise(), task = heap_.chain_of_11(promise);
  heap_.memory.put_u64(task + FakeRuntimeAsync11::kStateObject, cycle);
  EXPECT_EQ(Readers(heap_).chains.way_up(promise), (std::vector<Address>{promise}));
}

TEST_F(ContinuationsTest, WhatAThreadRuns) {
  const Address next = heap_.suspended_at(heap_.get_order(), 0, 3), task = heap_.task_of(0);
  const Address upper = heap_.box(heap_.get_box);
  heap_.await(upper, task);
  const ManagedThread thread = heap_.thread_that_runs(task, next);
  Readers all(heap_);
  const auto tasks = AsyncDispatchers(all.objects).of(thread);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].task, task);
  EXPECT_EQ(tasks[0].next, next);
  EXPECT_EQ(words(below(task)), "running");
  all.machines.runtime_async().set_running(task, {7, next, "Shop.Db.ReadRow()"});
  const AsyncChain chain = all.chains.below(task);
  EXPECT_EQ(words(chain), "GetOrder 3 > ReadRow -1 running");
  EXPECT_EQ(chain.runner, 7u);
  const std::vector<WaitFrame> frames{
      {FakeRuntimeAsync11::kStack + 0x80, FakeRuntimeAsync11::kStack + 0x90, true, "Shop.Db.ReadRow()"},
      {FakeRuntimeAsync11::kStack + 0x90, FakeRuntimeAsync11::kStack + 0xa0, true,
       "[stub: AsyncResume](object, ref byte)"},
      {FakeRuntimeAsync11::kStack + 0xa0, FakeRuntimeAsync11::kStack + 0x200, true,
       "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask<int>.DispatchContinuations()"}};
  const auto callers = AsyncCallers(all.objects, all.code, all.names)
                           .of({&thread, nullptr, frames, {}})
                           .value_or(std::vector<LogicalCaller>());
  ASSERT_EQ(callers.size(), 2u);
  EXPECT_EQ(short_name(callers[0].method), "GetOrder");
  EXPECT_EQ(callers[0].ip, heap_.get_order());
  EXPECT_EQ(callers[0].state, 3);
  EXPECT_EQ(short_name(callers[1].method), "Get");
  EXPECT_EQ(callers[1].box, upper);
  EXPECT_EQ(callers[1].ip, 0u);
}

TEST_F(ContinuationsTest, RecordsOnStacksGoOutwards) {
  const Address inner = heap_.task_of(0), outer = heap_.task_of(0);
  constexpr Address kInner = FakeRuntimeAsync11::kStack + 0x100, kOuter = FakeRuntimeAsync11::kStack + 0x200;
  (void)heap_.thread_that_runs(outer, 0, kOuter);
  ManagedThread thread = heap_.thread_that_runs(inner, 0, kInner, kOuter);
  Readers all(heap_);
  AsyncDispatchers dispatchers(all.objects);
  EXPECT_EQ(dispatchers.of(thread).size(), 2u);
  (void)heap_.thread_that_runs(outer, 0, kOuter, kInner);
  thread = heap_.thread_that_runs(inner, 0, kInner, kOuter);
  EXPECT_EQ(dispatchers.of(thread).size(), 2u) << "a cycle";
  thread.stack = {FakeRuntimeAsync11::kStack + 0x300, FakeRuntimeAsync11::kStack + 0x1000};
  EXPECT_TRUE(dispatchers.of(thread).empty()) << "not on its stack";
}

TEST_F(ContinuationsTest, ABoxOnTheStackHasCallers) {
  const Address upper = heap_.box(heap_.get_box), lower = heap_.box(heap_.load_box);
  heap_.await(upper, lower);
  heap_.memory.put_u32(lower + FakeRuntimeAsync11::kMachine + FakeRuntimeAsync11::kState, 0xffffffff);
  constexpr Address kStack = FakeRuntimeAsync11::kStack;
  heap_.memory.put_u64(kStack + 0x88, lower);
  ManagedThread thread;
  thread.stack = {kStack, kStack + 0x1000};
  Readers all(heap_);
  const std::string load = all.machines.method_of(*all.machines.machine_of(lower));
  std::vector<WaitFrame> frames{
      {kStack + 0x80, kStack + 0xa0, true, load},
      {kStack + 0xa0, kStack + 0xb0, true, "AsyncTaskMethodBuilder<int>.AsyncStateMachineBox<X>.MoveNext(Thread)"}};
  const auto callers_of = [&] {
    Readers anew(heap_);
    return AsyncCallers(anew.objects, anew.code, anew.names)
        .of({&thread, nullptr, frames, {}})
        .value_or(std::vector<LogicalCaller>());
  };
  ASSERT_EQ(callers_of().size(), 1u);
  EXPECT_EQ(callers_of()[0].box, upper);
  const Address other = heap_.box(heap_.load_box);
  heap_.memory.put_u32(other + FakeRuntimeAsync11::kMachine + FakeRuntimeAsync11::kState, 0xffffffff);
  heap_.memory.put_u64(kStack + 0x90, other);
  EXPECT_TRUE(callers_of().empty()) << "either may be it";
  heap_.memory.put_u64(kStack + 0x90, 0);
  heap_.memory.put_u64(kStack + 0x40, other);
  frames.insert(frames.begin(), {kStack + 0x20, kStack + 0x80, false, ""});
  ASSERT_EQ(callers_of().size(), 1u) << "a former call left another one further in";
  EXPECT_EQ(callers_of()[0].box, upper);
  frames.insert(frames.begin() + 2,
                {kStack + 0xa0, kStack + 0xa0, true,
                 "System.Threading.ExecutionContext.RunInternal(ExecutionContext, ContextCallback, object)"});
  EXPECT_EQ(callers_of().size(), 1u) << "what restores the context stands between";
}

TEST_F(ContinuationsTest, TheHeapsChains) {
  for (int i = 0; i < 3; i++) (void)heap_.chain_of_11(heap_.promise());
  Readers all(heap_);
  HeapReader reader(all.objects, all.code, all.names, FakeRuntimeAsync11::kDacTable);
  reader.prepare();
  const auto found = reader.read(heap_.memory, std::nullopt, {}, 1 << 24);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->chains.size(), 1u);
  EXPECT_EQ(words(found->chains[0]), "GetOrder 2 > ReadRow 1 promise");
  EXPECT_EQ(found->chains[0].count, 3u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
