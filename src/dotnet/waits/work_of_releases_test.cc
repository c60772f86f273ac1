// Requests, callbacks and workers found by .NET's own async methods, in the structures of each release.
#include <gtest/gtest.h>

#include "dotnet/waits/pending_work.h"
#include "support/fake_work.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;
using test::FakeWork;

constexpr std::uint32_t kWaiter = 5, kRunner = 9, kManagedId = 3;
constexpr std::uint64_t kCallback = 0x1234567;

class WorkOfReleases : public ::testing::TestWithParam<const char*> {
 protected:
  /// Everything anew: what was read before is forgotten.
  struct Readers {
    explicit Readers(FakeWork& heap)
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

  WorkOfReleases() {
    runner_.os_id = kRunner;
    runner_.id = kManagedId;
    frames_ = {{0x1000, 0x1040, true, "Shop.Program.Callback()"}};
  }

  PendingWork pending(Address waited) {
    Readers r(heap_);
    const std::vector<WaitedTask> waits{{kWaiter, waited}};
    const std::vector<WaitingThread> threads{{&runner_, nullptr, frames_}};
    return PendingWorkReader(r.objects, r.code, r.names, std::nullopt, false).read(waits, threads, {});
  }
  AsyncChain chain(Address waited) {
    const auto told = pending(waited).chains;
    EXPECT_EQ(told.size(), 1u);
    return told.empty() ? AsyncChain{} : told.front();
  }
  std::vector<Request> requests(Address waited) { return pending(waited).requests; }
  std::vector<Address> continuations(Address task) { return Readers(heap_).machines.continuations(task); }
  /// The object that workers of a call share; it leads to the task that ends with all of them.
  Address shared_by_workers(Address task) {
    const Address at = heap_.object(heap_.for_each, 8);
    heap_.memory.put_u64(at + FakeHeap::kSourceTask, task);
    return at;
  }

  FakeWork heap_{GetParam()};
  ManagedThread runner_;
  std::vector<WaitFrame> frames_;
};

TEST_P(WorkOfReleases, TheDescriptorIsThatOfARelease) {
  EXPECT_EQ(heap_.layouts.algorithms.suspended_methods == SuspendedMethods::resume_stubs, heap_.has_machines());
  const AsyncChain told = chain(heap_.suspended_work(FakeWork::of_program, heap_.promise(), 0));
  ASSERT_EQ(told.steps.size(), 1u);
  EXPECT_TRUE(told.steps[0].method.starts_with("Shop.Other.Hold(")) << told.steps[0].method;
  EXPECT_EQ(told.end, AsyncEnd::promise);
}

TEST_P(WorkOfReleases, AWorkerOfForEachAsyncGoesOnWithTheCallsTask) {
  const Address whole = heap_.promise(), promise = heap_.promise();
  const Address worker = heap_.suspended_work(FakeWork::for_each_worker, promise, shared_by_workers(whole));
  EXPECT_EQ(continuations(worker), (std::vector<Address>{whole}));
  EXPECT_EQ(Readers(heap_).chains.way_up(promise), (std::vector<Address>{promise, worker, whole}));
}

TEST_P(WorkOfReleases, OfOtherMethodsThatKeepWhatWorkersShareNothingIsSaid) {
  const Address whole = heap_.promise();
  const Address other = heap_.suspended_work(FakeWork::of_program, heap_.promise(), shared_by_workers(whole));
  EXPECT_TRUE(continuations(other).empty());
  const Address empty = heap_.suspended_work(FakeWork::for_each_worker, heap_.promise(), 0);
  EXPECT_TRUE(continuations(empty).empty());
  const Address of_no_call = heap_.suspended_work(FakeWork::for_each_worker, heap_.promise(), heap_.source());
  EXPECT_TRUE(continuations(of_no_call).empty()) << "it keeps an object of another type";
}

TEST_P(WorkOfReleases, AWorkerThatSomebodyAwaitsGoesOnThere) {
  const Address worker =
      heap_.suspended_work(FakeWork::for_each_worker, heap_.promise(), shared_by_workers(heap_.promise()));
  const Address upper = heap_.suspended_work(FakeWork::of_program, worker, 0);
  EXPECT_EQ(continuations(worker), (std::vector<Address>{upper}));
}

TEST_P(WorkOfReleases, ACallbackThatIsWaitedForIsRunByItsThread) {
  const Address source = heap_.source(), all = heap_.registrations(kCallback, kManagedId, source);
  const AsyncChain told = chain(heap_.suspended_work(FakeWork::waits_for_callback, 0, all, kCallback));
  EXPECT_EQ(told.end, AsyncEnd::source);
  EXPECT_EQ(told.awaited.address, source);
  EXPECT_EQ(told.awaited.type, "System.Threading.CancellationTokenSource");
  EXPECT_EQ(told.runner, kRunner);
  EXPECT_EQ(told.waiter, kWaiter);
}

TEST_P(WorkOfReleases, ACallbackOfAThreadThatIsNotThereHasNoRunner) {
  const Address source = heap_.source(), all = heap_.registrations(kCallback, kManagedId + 1, source);
  const AsyncChain told = chain(heap_.suspended_work(FakeWork::waits_for_callback, 0, all, kCallback));
  EXPECT_EQ(told.awaited.address, source);
  EXPECT_EQ(told.runner, 0u);
}

// The method is about to go on.
TEST_P(WorkOfReleases, AnotherCallbackIsNotTheOneThatIsWaitedFor) {
  for (const std::uint64_t running : {kCallback + 1, std::uint64_t{0}}) {
    const Address source = heap_.source(), all = heap_.registrations(running, kManagedId, source);
    const AsyncChain told = chain(heap_.suspended_work(FakeWork::waits_for_callback, 0, all, kCallback));
    EXPECT_EQ(told.runner, 0u) << running;
    EXPECT_NE(told.awaited.address, source) << running;
  }
}

TEST_P(WorkOfReleases, OtherMethodsThatKeepRegistrationsWaitForNoCallback) {
  const Address source = heap_.source(), all = heap_.registrations(kCallback, kManagedId, source);
  const AsyncChain told = chain(heap_.suspended_work(FakeWork::of_program, 0, all, kCallback));
  EXPECT_EQ(told.runner, 0u);
  EXPECT_NE(told.awaited.address, source);
}

TEST_P(WorkOfReleases, ARequestIsOfTheChainWhoseMethodSendsIt) {
  const Address request = heap_.request();
  const Address sends = heap_.suspended_work(FakeWork::send, heap_.promise(), request);
  const auto told = requests(heap_.suspended_work(FakeWork::of_program, sends, 0));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].object, request);
  EXPECT_EQ(told[0].kind, RequestKind::outgoing);
  EXPECT_EQ(told[0].chain, 1u);
  EXPECT_EQ(told[0].thread, kWaiter);
}

TEST_P(WorkOfReleases, ARequestThatAMethodOfTheProgramKeepsIsNotUnderWay) {
  EXPECT_TRUE(requests(heap_.suspended_work(FakeWork::of_program, heap_.promise(), heap_.request())).empty());
  EXPECT_TRUE(requests(heap_.suspended_work(FakeWork::send, heap_.promise(), heap_.source())).empty());
}

INSTANTIATE_TEST_SUITE_P(WorkOfReleases, WorkOfReleases,
                         ::testing::Values("descriptor-linux-x64-10.0.12.json", "descriptor-linux-x64-11.0.0.json"),
                         test::release_of);

}  // namespace
}  // namespace mixstack::dotnet::objects
