// Monitors and handles of .NET 11, in its structures laid out by hand.
#include <gtest/gtest.h>

#include "dotnet/waits/blocking.h"
#include "dotnet/waits/thread_waits.h"
#include "dotnet/waits/wait_subsystem.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

class FakeWaits : public FakeHeap {
 public:
  static constexpr Address kTable = 0x7c0000000000, kBlocks = 0x7c0000001000, kHandles = 0x7c0000002000;
  static constexpr Address kCache = 0x7c0000003000, kThreads = 0x7c0000010000, kEach = 0x10000;
  static constexpr std::uint32_t kFreeIndex = 108;

  FakeWaits() {
    layouts.algorithms.waits = WaitForm::managed;
    layouts.sync_table.object = {8};
    layouts.sync_table.lock = {0};
    layouts.sync_table.free_index = {kFreeIndex};
    layouts.globals.sync_block_cache = {kCache, true};
    for (const Address at : {kTable, kBlocks, kHandles, kCache}) memory.map(at, 0x1000);
    memory.map(layouts.globals.sync_table_entries.value, 8);
    memory.put_u64(layouts.globals.sync_table_entries.value, kTable);
    memory.put_u64(kCache, kCache + 0x100);
    set_sync_blocks(1);
    make_types();
  }
  void set_sync_blocks(std::uint32_t end) { memory.put_u32(kCache + 0x100 + kFreeIndex, end); }

  /// An entry of the table of sync blocks, whose monitor is this Lock.
  void add_monitor(std::uint32_t index, Address object, Address lock) {
    memory.put_u64(kTable + 16 * index, kBlocks + 0x40 * index);
    memory.put_u64(kTable + 16 * index + 8, object);
    memory.put_u64(kBlocks + 0x40 * index, lock == 0 ? 0 : handle(lock));
    set_sync_blocks(index + 1);
  }
  Address handle(Address object) {
    memory.put_u64(kHandles + handles_, object);
    return kHandles + std::exchange(handles_, handles_ + 8);
  }
  Address new_lock(std::uint32_t owner, std::uint32_t state) {
    const Address at = object(lock, 16);
    memory.put_u32(at + 8, owner);
    memory.put_u32(at + 12, state);
    return at;
  }
  /// A thread with its managed object, that does not wait.
  ManagedThread add_thread(std::uint32_t id) {
    ManagedThread t;
    t.address = kThreads + kEach * id;
    memory.map(t.address, kEach);
    t.id = id;
    t.os_id = 1000 + id;
    t.stack = {t.address + 0x8000, t.address + kEach};
    const Address managed = object(thread, 24);
    memory.put_u64(managed + 24, t.address);
    t.thread_object_handle = handle(managed);
    return t;
  }
  Address of(const ManagedThread& t) { return memory.read<std::uint64_t>(t.thread_object_handle).value_or(0); }
  Address new_waitable(std::uint8_t kind) {
    const Address at = object(waitable, 16);
    memory.put_u8(at + 16, kind);
    return at;
  }
  void own(Address mutex, const ManagedThread& t) {
    const Address at = object(ownership, 8);
    memory.put_u64(at + 8, of(t));
    memory.put_u64(mutex + 8, at);
  }
  /// The program's own handle object for it.
  Address new_handle(Address of) {
    const Address safe = object(safe_handle, 8), at = object(wait_handle, 8);
    memory.put_u64(safe + 8, handle(of));
    memory.put_u64(at + 8, safe);
    return at;
  }
  Address wait(const ManagedThread& t, const std::vector<Address>& waitables, bool all = false) {
    const Address info = object(wait_info, 32),
                  list = object(array, 8 + 8 * static_cast<std::uint32_t>(waitables.size()));
    memory.put_u32(list + layouts.array.num_components.offset, static_cast<std::uint32_t>(waitables.size()));
    for (std::size_t i = 0; i < waitables.size(); i++) memory.put_u64(list + layouts.array.size + 8 * i, waitables[i]);
    memory.put_u64(info + 8, of(t));
    memory.put_u64(info + 16, list);
    memory.put_u32(info + 24, static_cast<std::uint32_t>(waitables.size()));
    memory.put_u8(info + 29, all ? 1 : 0);
    memory.put_u64(of(t) + 8, info);
    return info;
  }

  Address thread = 0, wait_info = 0, waitable = 0, ownership = 0, safe_handle = 0, wait_handle = 0, lock = 0;
  static constexpr std::uint32_t kState = 28;  // of a ThreadWaitInfo

 private:
  void make_types() {
    test::MetadataBuilder b = library("waits.dll", "waits");
    const auto blob = object_field();
    b.type_with_fields("System.Threading", "Thread", 1, 1);
    b.type_with_fields("System.Threading", "WaitSubsystem", 4, 1);
    b.type_with_fields("", "ThreadWaitInfo", 4, 1);
    b.type_with_fields("", "WaitableObject", 9, 1);
    b.type_with_fields("", "OwnershipInfo", 11, 1);
    b.type_with_fields("Microsoft.Win32.SafeHandles", "SafeWaitHandle", 12, 1);
    b.type_with_fields("System.Threading", "WaitHandle", 13, 1);
    b.type_with_fields("System.Threading", "Lock", 14, 1);
    for (const char* field : {"_waitInfo", "_joinEvent", "_DONT_USE_InternalThread", "_thread", "_waitedObjects",
                              "_waitedCount", "_waitSignalState", "_isWaitForAll", "_ownershipInfo", "_type", "_thread",
                              "handle", "_waitHandle", "_owningThreadId", "_state", "_recursionCount"})
      b.field(field, blob);
    b.nested(4, 3);
    b.nested(5, 3);
    b.nested(6, 5);
    const Address waits = module(b.build());
    thread = type(waits, 2, object_type, 40, 0, 3, {{1, 0, 18}, {2, 8, 18}, {3, 16, 24}});
    wait_info = type(waits, 4, object_type, 48, 0, 5, {{4, 0, 18}, {5, 8, 18}, {6, 16, 8}, {7, 20, 5}, {8, 21, 2}});
    waitable = type(waits, 5, object_type, 32, 0, 2, {{9, 0, 18}, {10, 8, 5}});
    ownership = type(waits, 6, object_type, 24, 0, 1, {{11, 0, 18}});
    safe_handle = type(waits, 7, object_type, 24, 0, 1, {{12, 0, 24}});
    wait_handle = type(waits, 8, object_type, 24, 0, 1, {{13, 0, 18}});
    lock = type(waits, 9, object_type, 32, 0, 3, {{14, 0, 8}, {15, 4, 9}, {16, 8, 9}});
  }
  Address handles_ = 0;
};

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

}  // namespace
}  // namespace mixstack::dotnet::objects
