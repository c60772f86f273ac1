#include "dotnet/waits/pending_work.h"

#include <gtest/gtest.h>

#include <map>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

constexpr Address kStack = 0x7d0000000000;
constexpr std::uint32_t kWaiter = 5, kRunner = 9;

class PendingWorkTest : public ::testing::Test {
 protected:
  PendingWorkTest() {
    heap_.memory.map(kStack, 0x1000);
    runner_.os_id = kRunner;
    runner_.stack = {kStack, kStack + 0x1000};
    heap_.memory.put_u32(box_ + FakeHeap::kMachine + FakeHeap::kState, 0xffffffff);
    heap_.memory.put_u64(box_ + FakeHeap::kContinuation, promise_);
  }

  std::vector<AsyncChain> chains(std::uint32_t waiter, const std::unordered_map<Address, std::uint64_t>& running = {}) {
    const std::vector<WaitedTask> waits{{waiter, promise_}};
    const std::vector<WaitingThread> threads{{&runner_, nullptr, frames_}};
    return PendingWorkReader(objects_, code_, names_, std::nullopt, false).read(waits, threads, running).chains;
  }

  FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  StateMachines machines_{objects_, delegates_};

  Address promise_ = heap_.joining();
  Address box_ = heap_.box(heap_.get_box);  ///< runs, and the promise goes on with it
  ManagedThread runner_;
  std::string method_ = machines_.method_of(*machines_.machine_of(box_)) + " [async]";
  /// A wait inside of the method, which its box has called.
  std::vector<WaitFrame> frames_{
      {kStack + 0x100, kStack + 0x140, true, method_},
      {kStack + 0x140, kStack + 0x180, true, "System.AsyncStateMachineBox<T>.MoveNext(Thread)"},
      {kStack + 0x180, kStack + 0x1c0, true, "System.Threading.ThreadPoolWorkQueue.Dispatch()"}};
};

TEST_F(PendingWorkTest, AMethodThatRunsLeadsUpToThePromise) {
  EXPECT_TRUE(chains(kWaiter)[0].steps.empty()) << "nothing on a stack leads to it";
  heap_.memory.put_u64(kStack + 0x148, box_);
  const auto told = chains(kWaiter);
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].steps.size(), 1u);
  EXPECT_EQ(told[0].steps[0].box, box_);
  EXPECT_EQ(told[0].end, AsyncEnd::running);
  EXPECT_EQ(told[0].waiter, kWaiter);
  EXPECT_EQ(told[0].runner, kRunner);
  EXPECT_EQ(told[0].proof, Proof::proved);
  EXPECT_FALSE(told[0].gives_up);
}

TEST_F(PendingWorkTest, TheTaskThatAThreadRunsDoesSo) {
  const Address task = heap_.promise();
  heap_.memory.put_u64(task + FakeHeap::kAction, heap_.object(heap_.delegate, 8));
  heap_.memory.put_u64(task + FakeHeap::kContinuation, promise_);
  const auto told = chains(kWaiter, {{task, kRunner}});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].end, AsyncEnd::work);
  EXPECT_EQ(told[0].awaited.address, task);
  EXPECT_EQ(told[0].runner, kRunner);
}

TEST_F(PendingWorkTest, ATaskFurtherOutOnAStackIsRunByItsThread) {
  constexpr std::uint32_t kInvoked = 0x20000;  // TASK_STATE_DELEGATE_INVOKED
  constexpr std::string_view kRuns = "System.Threading.Tasks.Task.ExecuteWithThreadLocal(Task&, Thread)";
  frames_ = {{kStack + 0x100, kStack + 0x140, true, "Shop.Program.Inner()"},
             {kStack + 0x140, kStack + 0x180, true, kRuns},
             {kStack + 0x180, kStack + 0x1c0, true, "Shop.Program.Outer()"},
             {kStack + 0x1c0, kStack + 0x200, true, kRuns}};
  const Address task = heap_.promise();
  heap_.memory.put_u64(task + FakeHeap::kAction, heap_.object(heap_.delegate, 8));
  heap_.memory.put_u64(kStack + 0x1c8, task);
  const auto runner = [&](const std::vector<WaitingThread>& threads) {
    const std::vector<WaitedTask> waits{{kWaiter, task}};
    const auto told = PendingWorkReader(objects_, code_, names_, std::nullopt, false).read(waits, threads, {}).chains;
    return told.size() == 1 && told[0].end == AsyncEnd::work ? std::optional(told[0].runner) : std::nullopt;
  };
  const WaitingThread at{&runner_, nullptr, frames_};
  EXPECT_EQ(runner({at}), 0u) << "it has not begun";
  heap_.memory.put_u32(task + FakeHeap::kFlags, FakeHeap::kWaiting | kInvoked);
  EXPECT_EQ(runner({at}), kRunner);
  ManagedThread other = runner_;
  other.os_id = kRunner + 1;
  EXPECT_EQ(runner({{at, {&other, nullptr, frames_}}}), 0u) << "on one of two stacks it is of before";
  heap_.memory.put_u32(task + FakeHeap::kFlags, FakeHeap::kRanToCompletion | kInvoked);
  EXPECT_NE(runner({at}), kRunner) << "it has ended";
}

TEST_F(PendingWorkTest, ATaskThatNobodyHasBegunIsLeftToTheWaitersScheduler) {
  const auto given_to = [&](Address scheduler) {
    const Address task = heap_.promise();
    heap_.memory.put_u64(task + FakeHeap::kAction, heap_.object(heap_.delegate, 8));
    heap_.memory.put_u64(task + FakeHeap::kScheduler, scheduler);
    return task;
  };
  const Address grains = heap_.object(heap_.own_scheduler, 8), pool = heap_.object(heap_.pool_scheduler, 8);
  const Address waited = given_to(grains), runs = given_to(grains);
  const auto scheduler = [&](const std::unordered_map<Address, std::uint64_t>& running) {
    const std::vector<WaitedTask> waits{{kWaiter, waited}};
    const auto told = PendingWorkReader(objects_, code_, names_, std::nullopt, false).read(waits, {}, running).chains;
    return told.size() == 1 ? told[0].scheduler : "no chain";
  };
  EXPECT_EQ(scheduler({{runs, kWaiter}}), "Shop.Grains");
  EXPECT_EQ(scheduler({}), "") << "the waiter runs no task";
  EXPECT_EQ(scheduler({{given_to(pool), kWaiter}}), "");
  EXPECT_EQ(scheduler({{given_to(heap_.object(heap_.own_scheduler, 8)), kWaiter}}), "") << "of another one";
  EXPECT_EQ(scheduler({{runs, kWaiter}, {given_to(grains), kRunner}}), "") << "another thread may get to it";
  EXPECT_EQ(scheduler({{runs, kWaiter}, {given_to(pool), kRunner}}), "Shop.Grains");
  heap_.memory.put_u32(waited + FakeHeap::kFlags, FakeHeap::kWaiting | 0x20000);  // TASK_STATE_DELEGATE_INVOKED
  EXPECT_EQ(scheduler({{runs, kWaiter}}), "") << "it has begun";
}

TEST_F(PendingWorkTest, TheRestOfAMethodIsLeftToTheSchedulerItWasCalledIn) {
  const Address grains = heap_.object(heap_.own_scheduler, 8), runs = heap_.promise(), inner = heap_.promise();
  heap_.memory.put_u64(runs + FakeHeap::kScheduler, grains);
  const Address method = heap_.box(heap_.load_box);
  heap_.await(method, inner);
  const auto scheduler = [&] {
    const std::vector<WaitedTask> waits{{kWaiter, method}};
    const auto told =
        PendingWorkReader(objects_, code_, names_, std::nullopt, false).read(waits, {}, {{runs, kWaiter}}).chains;
    return told.size() == 1 ? told[0].scheduler : "no chain";
  };
  EXPECT_EQ(scheduler(), "") << "it still waits";
  heap_.memory.put_u32(inner + FakeHeap::kFlags, FakeHeap::kRanToCompletion);
  EXPECT_EQ(scheduler(), "Shop.Grains");
}

TEST_F(PendingWorkTest, OfSeveralEachIsAChain) {
  const Address other = heap_.box(heap_.load_box);
  heap_.await(other, heap_.promise());
  heap_.memory.put_u64(other + FakeHeap::kContinuation, promise_);
  heap_.memory.put_u64(kStack + 0x148, box_);
  heap_.memory.put_u64(kStack + 0x150, other);
  const auto told = chains(kWaiter);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].end, AsyncEnd::running);
  EXPECT_EQ(told[1].end, AsyncEnd::promise);
  EXPECT_EQ(told[1].waiter, kWaiter);
}

TEST_F(PendingWorkTest, ManyOfOneThreadThatAreAlikeAreToldTogether) {
  std::vector<WaitedTask> waits;
  for (std::uint32_t i = 0; i < 200; i++) {
    const Address box = heap_.box(i % 10 == 0 ? heap_.get_box : heap_.load_box);
    heap_.await(box, heap_.promise());
    waits.push_back({i < 150 ? kWaiter : kRunner, box});
  }
  const auto told = PendingWorkReader(objects_, code_, names_, std::nullopt, false).read(waits, {}, {}).chains;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> count;
  for (const AsyncChain& c : told) count[{c.waiter, c.steps.at(0).method}] += c.count;
  EXPECT_EQ(told.size(), 64u + 2u + 50u);
  ASSERT_EQ(count.size(), 4u);
  for (const auto& [of, n] : count) EXPECT_TRUE(n == 15 || n == 135 || n == 5 || n == 45) << n;
}

TEST_F(PendingWorkTest, OnesThatHaveEndedAreNone) {
  heap_.memory.put_u64(kStack + 0x148, box_);
  heap_.memory.put_u32(box_ + FakeHeap::kFlags, FakeHeap::kRanToCompletion);
  const auto told = chains(kWaiter);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].end, AsyncEnd::promise);
}

TEST_F(PendingWorkTest, CyclesOfPromisesEnd) {
  const Address other = heap_.joining();
  heap_.memory.put_u64(other + FakeHeap::kContinuation, promise_);
  heap_.memory.put_u64(promise_ + FakeHeap::kContinuation, other);
  heap_.memory.put_u64(kStack + 0x148, promise_);
  EXPECT_FALSE(chains(kWaiter).empty());
}

TEST_F(PendingWorkTest, AThreadRunsWhatItWaitsForWhereItsBoxHasCalledIt) {
  heap_.memory.put_u64(kStack + 0x108, box_);
  ASSERT_EQ(chains(kRunner).size(), 1u);
  EXPECT_EQ(chains(kRunner)[0].runner, 0u) << "the method knows what it waits for in any case";
  heap_.memory.put_u64(kStack + 0x188, box_);
  EXPECT_EQ(chains(kRunner)[0].runner, 0u) << "and so may who has called the box";
  heap_.memory.put_u64(kStack + 0x148, box_);
  EXPECT_EQ(chains(kRunner)[0].runner, kRunner);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
