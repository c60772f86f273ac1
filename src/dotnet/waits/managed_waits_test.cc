// Monitors and handles of .NET 11, in its structures laid out by hand.
#include <gtest/gtest.h>

#include "dotnet/waits/blocking.h"
#include "dotnet/waits/thread_waits.h"
#include "dotnet/waits/wait_subsystem.h"
#include "support/fake_waits.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeWaits;

class ManagedWaitsTest : public ::testing::Test {
 protected:
  FakeWaits heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  WaitSubsystem subsystem_{objects_};
};

TEST_F(ManagedWaitsTest, AMonitorIsFoundByItsLock) {
  const Address object = heap_.promise(), lock = heap_.new_lock(5, 0x181), own = heap_.new_lock(0, 0);
  heap_.add_monitor(1, heap_.promise(), 0);  // a thin lock, or a hash code
  heap_.add_monitor(2, object, lock);
  heap_.add_monitor(3, 0x81, own);  // free
  heap_.add_monitor(4, 0, own);
  BlockingRecords records(objects_);
  EXPECT_EQ(records.object_of_monitor(lock), object);
  EXPECT_EQ(records.object_of_monitor(own), 0u);
  EXPECT_EQ(records.object_of_monitor(0), 0u);
  const auto state = records.lock(lock);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->is_by_managed_id);
  EXPECT_EQ(state->managed_owner, 5u);
  EXPECT_EQ(state->owner, 0u) << "no id of the system's is kept";
  EXPECT_EQ(state->waiters, 3u);
}

TEST_F(ManagedWaitsTest, TheTableOfSyncBlocksIsBounded) {
  const Address lock = heap_.new_lock(5, 1);
  heap_.add_monitor(2, heap_.promise(), lock);
  heap_.set_sync_blocks(0xffffffff);  // more than is there
  EXPECT_NE(MonitorLocks(objects_).object_of(lock), 0u);
  heap_.set_sync_blocks(2);
  EXPECT_EQ(MonitorLocks(objects_).object_of(lock), 0u);
  heap_.layouts.sync_table.object = {12};
  heap_.set_sync_blocks(3);
  EXPECT_EQ(MonitorLocks(objects_).object_of(lock), 0u) << "outside of the entry";
}

TEST_F(ManagedWaitsTest, AThreadsWaitIsRead) {
  const ManagedThread t = heap_.add_thread(1);
  EXPECT_FALSE(subsystem_.of(t)) << "it has never waited";
  const Address event = heap_.new_waitable(1), mutex = heap_.new_waitable(3);
  const Address info = heap_.wait(t, {event, mutex}, true);
  const auto wait = subsystem_.of(t);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->waitables, (std::vector<Address>{event, mutex}));
  EXPECT_TRUE(wait->is_for_all);
  EXPECT_TRUE(wait->is_for(mutex));
  EXPECT_FALSE(wait->is_for(0));
  EXPECT_EQ(subsystem_.kind_of(event), "AutoResetEvent");
  EXPECT_EQ(subsystem_.kind_of(mutex), "Mutex");
  EXPECT_EQ(subsystem_.kind_of(info), "");
  heap_.memory.put_u8(info + FakeWaits::kState, 2);
  EXPECT_FALSE(subsystem_.of(t)) << "it is over";
}

TEST_F(ManagedWaitsTest, AWaitThatContradictsItselfIsNotBelieved) {
  const ManagedThread t = heap_.add_thread(1), other = heap_.add_thread(2);
  const Address event = heap_.new_waitable(1), info = heap_.wait(t, {event});
  const auto with = [&](Address at, std::uint64_t value) {
    const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
    heap_.memory.put_u64(at, value);
    const bool is_told = subsystem_.of(t).has_value();
    heap_.memory.put_u64(at, before);
    return is_told;
  };
  EXPECT_TRUE(with(info + 8, heap_.of(t)));
  EXPECT_FALSE(with(info + 8, heap_.of(other))) << "another thread's";
  EXPECT_FALSE(with(info + 16, 0)) << "no list";
  EXPECT_FALSE(with(info + 24, 2)) << "more than the list has";
  EXPECT_FALSE(with(info + 24, 0xffffffff)) << "too many";
  EXPECT_FALSE(with(event, heap_.task)) << "no waitable object";
  EXPECT_FALSE(with(t.thread_object_handle, 0));
  EXPECT_FALSE(with(heap_.of(t) + 8, 0x1000)) << "not readable";
}

TEST_F(ManagedWaitsTest, HandlesLeadToWaitablesAndTheirOwners) {
  const ManagedThread t = heap_.add_thread(1);
  const Address mutex = heap_.new_waitable(3), handle = heap_.new_handle(mutex);
  EXPECT_EQ(subsystem_.waitable_of(handle), mutex);
  EXPECT_EQ(subsystem_.owner_of(mutex), 0u);
  heap_.own(mutex, t);
  EXPECT_EQ(subsystem_.owner_of(mutex), heap_.of(t));
  heap_.memory.put_u8(mutex + 16, 1);
  EXPECT_EQ(subsystem_.owner_of(mutex), 0u) << "an event has none";
  EXPECT_EQ(subsystem_.waitable_of(heap_.new_handle(heap_.promise())), 0u);
  EXPECT_EQ(subsystem_.waitable_of(heap_.promise()), 0u);
  EXPECT_EQ(subsystem_.end_of(t), 0u);
  heap_.memory.put_u64(heap_.of(t) + 16, handle);
  EXPECT_EQ(subsystem_.end_of(t), mutex);
}

/// A thread as it waits, by the methods of its frames.
class WaitOfThreadTest : public ManagedWaitsTest {
 protected:
  ThreadWait wait_of(const std::vector<ManagedThread>& threads, std::vector<std::string_view> methods,
                     const std::vector<Address>& words) {
    const ManagedThread& t = threads.front();
    std::vector<WaitFrame> frames;
    for (std::size_t i = 0; i < methods.size(); i++) {
      const Address sp = t.stack.begin + 0x100 * i;
      frames.push_back({sp, sp + 0x100, true, methods[i]});
    }
    for (std::size_t i = 0; i < words.size(); i++) heap_.memory.put_u64(t.stack.begin + 8 * i, words[i]);
    ThreadWaits waits(objects_, threads, true, nullptr, 0);
    return waits.of({&t, nullptr, frames, {1, 0, 0, 0, 0, 0}});
  }
  static constexpr std::string_view kWait = "System.Threading.WaitSubsystem.ThreadWaitInfo.Wait(int)";
  static constexpr std::string_view kWaitOne = "System.Threading.WaitHandle.WaitOneNoCheck(int)";
};

TEST_F(WaitOfThreadTest, AHandleIsRecorded) {
  const std::vector<ManagedThread> threads{heap_.add_thread(1), heap_.add_thread(2)};
  const Address mutex = heap_.new_waitable(3), event = heap_.new_waitable(1);
  const Address handle = heap_.new_handle(event), earlier = heap_.new_handle(heap_.new_waitable(1));
  heap_.wait(threads[0], {event});
  ThreadWait wait = wait_of(threads, {kWait, kWaitOne}, {earlier, handle});
  EXPECT_EQ(wait.kind, WaitKind::wait_handle);
  EXPECT_EQ(wait.proof, Proof::recorded);
  EXPECT_EQ(wait.object.address, handle);
  heap_.own(mutex, threads[1]);
  heap_.wait(threads[0], {mutex});
  wait = wait_of(threads, {kWait, kWaitOne}, {earlier, mutex});
  EXPECT_EQ(wait.object.address, mutex) << "the program's own object is not on the stack";
  EXPECT_EQ(wait.proof, Proof::recorded);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002}));
  wait = wait_of(threads, {kWait, kWaitOne}, {earlier, handle});
  EXPECT_EQ(wait.proof, Proof::likely) << "the stack is of another wait";
}

TEST_F(WaitOfThreadTest, TheEventOfALockIsNoHandle) {
  const std::vector<ManagedThread> threads{heap_.add_thread(1)};
  const Address event = heap_.new_waitable(1), handle = heap_.new_handle(event);
  heap_.wait(threads[0], {event});
  for (const std::string_view method :
       {"System.Threading.Lock.TryEnterSlow(int, int)", "System.Threading.Condition.Wait(int)"})
    EXPECT_EQ(wait_of(threads, {kWait, kWaitOne, method}, {handle}).kind, WaitKind::none) << method;
}

TEST_F(WaitOfThreadTest, AJoinedThreadIsKnownByItsEvent) {
  const std::vector<ManagedThread> threads{heap_.add_thread(1), heap_.add_thread(2), heap_.add_thread(3)};
  const Address end = heap_.new_waitable(0), other_end = heap_.new_waitable(0);
  heap_.memory.put_u64(heap_.of(threads[1]) + 16, heap_.new_handle(other_end));
  heap_.memory.put_u64(heap_.of(threads[2]) + 16, heap_.new_handle(end));
  heap_.wait(threads[0], {end});
  const ThreadWait wait = wait_of(threads, {kWait, "System.Threading.Thread.Join(int)"}, {heap_.of(threads[1]), end});
  EXPECT_EQ(wait.kind, WaitKind::thread_join);
  EXPECT_EQ(wait.proof, Proof::recorded);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1003})) << "a Thread on the stack alone says nothing";
}

TEST_F(WaitOfThreadTest, AThreadMayWaitForItsOwnEnd) {
  const std::vector<ManagedThread> threads{heap_.add_thread(1), heap_.add_thread(2)};
  const Address end = heap_.new_waitable(0);
  heap_.memory.put_u64(heap_.of(threads[0]) + 16, heap_.new_handle(end));
  heap_.wait(threads[0], {end});
  const ThreadWait wait = wait_of(threads, {kWait, "System.Threading.Thread.Join(int)"}, {heap_.of(threads[0]), end});
  EXPECT_EQ(wait.kind, WaitKind::thread_join);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1001}));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
