// Waits that a thread's frames and the objects on its stack tell, over the structures of each release laid out by hand.
#include "dotnet/waits/thread_waits.h"

#include <gtest/gtest.h>

#include "support/fake_waits.h"

namespace mixstack::dotnet::objects {
namespace {

/// With the locks and processes of the class library that threads wait for by a handle.
class FakeHandles : public test::FakeWaits {
 public:
  static constexpr std::uint32_t kWriter = 8, kUpgrader = 12, kWriteEvent = 16, kReadEvent = 24, kUpgradeEvent = 32;
  static constexpr std::uint32_t kHolder = 8, kState = 8, kExited = 8, kPid = 16;

  explicit FakeHandles(const char* descriptor_name, WaitForm form)
      : FakeWaits(test::load_descriptor(descriptor_name), form) {
    test::MetadataBuilder b = library("handles.dll", "handles");
    const auto blob = object_field();
    b.type_with_fields("System.Threading", "ReaderWriterLockSlim", 1, 1);
    b.type_with_fields("System.Diagnostics", "Process", 6, 1);
    b.type_with_fields("System.Diagnostics", "ProcessWaitState", 7, 1);
    b.type_with_fields("", "Holder", 9, 1);
    for (const char* field : {"_writeLockOwnerId", "_upgradeLockOwnerId", "_writeEvent", "_readEvent", "_upgradeEvent",
                              "_waitStateHolder", "_exitedEvent", "_processId", "_state"})
      b.field(field, blob);
    b.nested(5, 4);
    const Address of = module(b.build());
    lock_slim = type(of, 2, object_type, 16 + 32, 0, 5,
                     {{1, kWriter - 8, 8},
                      {2, kUpgrader - 8, 8},
                      {3, kWriteEvent - 8, 18},
                      {4, kReadEvent - 8, 18},
                      {5, kUpgradeEvent - 8, 18}});
    process = type(of, 3, object_type, 16 + 8, 0, 1, {{6, kHolder - 8, 18}});
    process_state = type(of, 4, object_type, 16 + 16, 0, 2, {{7, kExited - 8, 18}, {8, kPid - 8, 8}});
    state_holder = type(of, 5, object_type, 16 + 8, 0, 1, {{9, kState - 8, 18}});
  }
  Address array_of(const std::vector<Address>& members) {
    const Address list = object(array, 8 + 8 * static_cast<std::uint32_t>(members.size()));
    memory.put_u32(list + layouts.array.num_components.offset, static_cast<std::uint32_t>(members.size()));
    for (std::size_t i = 0; i < members.size(); i++) memory.put_u64(list + layouts.array.size + 8 * i, members[i]);
    return list;
  }
  Address lock_slim = 0, process = 0, process_state = 0, state_holder = 0;
};

class ThreadWaitsOfReleases : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool is_managed() { return std::string_view(GetParam()).find("-11.") != std::string_view::npos; }

  /// A handle that the first thread waits for: recorded, or its SafeWaitHandle among the words of the stack.
  Address waited_handle(std::uint8_t kind = 1) {
    const Address waitable = heap_.new_waitable(kind), handle = heap_.new_handle(waitable);
    if (is_managed())
      heap_.wait(threads_[0], {waitable});
    else
      words_.push_back(heap_.memory.read<std::uint64_t>(handle + 8).value_or(0));
    return handle;
  }
  ThreadWait wait_of(const std::vector<std::string_view>& methods, const std::vector<Address>& more = {},
                     std::uint64_t finalizer = 0) {
    const ManagedThread& t = threads_.front();
    std::vector<WaitFrame> frames;
    for (std::size_t i = 0; i < methods.size(); i++) {
      const Address sp = t.stack.begin + 0x100 * i;
      frames.push_back({sp, sp + 0x100, true, methods[i]});
    }
    std::vector<Address> words = words_;
    words.insert(words.end(), more.begin(), more.end());
    for (std::size_t i = 0; i < 16; i++)
      heap_.memory.put_u64(t.stack.begin + 8 * i, i < words.size() ? words[i] : Address{0});
    return ThreadWaits(objects_, threads_, true, nullptr, finalizer).of({&t, nullptr, frames, call_});
  }
  static constexpr std::string_view kWaitOne = "System.Threading.WaitHandle.WaitOneNoCheck(int)",
                                    kWaitAll = "System.Threading.WaitHandle.WaitAll(System.Threading.WaitHandle[])",
                                    kMain = "Shop.Program.Main()";

  FakeHandles heap_{GetParam(), is_managed() ? WaitForm::managed : WaitForm::native};
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  std::vector<ManagedThread> threads_{heap_.add_thread(1), heap_.add_thread(2), heap_.add_thread(3)};
  std::vector<Address> words_;
  std::array<std::uint64_t, 6> call_{1, 0, 0, 0, 0, 0};
};

INSTANTIATE_TEST_SUITE_P(ThreadWaits, ThreadWaitsOfReleases, ::testing::ValuesIn(test::kDescriptorsFrom10),
                         test::release_of);

TEST_P(ThreadWaitsOfReleases, ASleepAndAWaitForFinalizersNeedNoObject) {
  ThreadWait wait = wait_of({"System.Threading.Thread.Sleep(int)", kMain});
  EXPECT_EQ(wait.kind, WaitKind::sleep);
  EXPECT_TRUE(wait.object.detail.empty());
  wait = wait_of({"System.Threading.Thread.Sleep(int)", "System.Threading.SpinWait.SpinOnceCore(int)", kMain});
  EXPECT_EQ(wait.kind, WaitKind::sleep);
  EXPECT_FALSE(wait.object.detail.empty()) << "a nap in a loop";
  wait = wait_of({"System.GC.WaitForPendingFinalizers()", kMain}, {}, 77);
  EXPECT_EQ(wait.kind, WaitKind::finalizers);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{77}));
  EXPECT_TRUE(wait_of({"System.GC.WaitForPendingFinalizers()", kMain}).owners.empty()) << "which thread is not known";
  EXPECT_EQ(wait_of({kMain}).kind, WaitKind::none) << "it runs";
  EXPECT_EQ(wait_of({}).kind, WaitKind::none);
}

TEST_P(ThreadWaitsOfReleases, AMethodFarOutsideIsNotWhatItWaitsIn) {
  std::vector<std::string_view> methods(ThreadWaits::kManagedFrames, kMain);
  methods.emplace_back("System.Threading.Thread.Sleep(int)");
  EXPECT_EQ(wait_of(methods).kind, WaitKind::none);
  methods.erase(methods.begin());
  EXPECT_EQ(wait_of(methods).kind, WaitKind::sleep);
}

TEST_P(ThreadWaitsOfReleases, AHandleIsTheOneThatIsWaitedForAndNoOther) {
  const Address handle = waited_handle(), other = heap_.new_handle(heap_.new_waitable(1));
  const ThreadWait wait = wait_of({kWaitOne, kMain}, {other, handle});
  EXPECT_EQ(wait.kind, WaitKind::wait_handle);
  EXPECT_EQ(wait.object.address, handle);
  EXPECT_EQ(wait.proof, is_managed() ? Proof::recorded : Proof::proved);
  EXPECT_NE(wait_of({kWaitOne, kMain}, {other}).object.address, other) << "a word of an earlier wait";
}

TEST_P(ThreadWaitsOfReleases, AReaderWaitsForTheWriterAWriterForUpgradersToo) {
  const Address lock = heap_.object(heap_.lock_slim, 32), event = waited_handle();
  heap_.memory.put_u32(lock + FakeHandles::kWriter, 2);
  heap_.memory.put_u32(lock + FakeHandles::kUpgrader, 3);
  heap_.memory.put_u64(lock + FakeHandles::kReadEvent, event);
  ThreadWait wait = wait_of({kWaitOne, kMain}, {lock});
  EXPECT_EQ(wait.kind, WaitKind::reader_writer_lock);
  EXPECT_EQ(wait.proof, Proof::proved);
  EXPECT_TRUE(wait.is_reading);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002}));
  heap_.memory.put_u64(lock + FakeHandles::kReadEvent, 0);
  heap_.memory.put_u64(lock + FakeHandles::kWriteEvent, event);
  wait = wait_of({kWaitOne, kMain}, {lock});
  EXPECT_FALSE(wait.is_reading);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002, 1003}));
  heap_.memory.put_u32(lock + FakeHandles::kWriter, 99);
  heap_.memory.put_u32(lock + FakeHandles::kUpgrader, 0);
  wait = wait_of({kWaitOne, kMain}, {lock});
  EXPECT_TRUE(wait.owners.empty()) << "no such thread";
  EXPECT_TRUE(wait.owner_has_ended) << "nobody can leave it";
  EXPECT_FALSE(wait.gives_up);
  call_[3] = 0x7000;
  EXPECT_TRUE(wait_of({kWaitOne, kMain}, {lock}).gives_up) << "the call has a time";
  heap_.memory.put_u32(lock + FakeHandles::kWriter, 0xffffffff);
  wait = wait_of({kWaitOne, kMain}, {lock});
  EXPECT_TRUE(wait.owners.empty() && !wait.owner_has_ended) << "nobody writes";
  heap_.memory.put_u64(lock + FakeHandles::kWriteEvent, heap_.new_handle(heap_.new_waitable(1)));
  EXPECT_NE(wait_of({kWaitOne, kMain}, {lock}).kind, WaitKind::reader_writer_lock) << "not its event";
}

TEST_P(ThreadWaitsOfReleases, NobodyIsBlockedByItself) {
  const Address lock = heap_.object(heap_.lock_slim, 32);
  heap_.memory.put_u32(lock + FakeHandles::kWriter, 1);
  heap_.memory.put_u64(lock + FakeHandles::kReadEvent, waited_handle());
  const ThreadWait wait = wait_of({kWaitOne, kMain}, {lock});
  EXPECT_EQ(wait.kind, WaitKind::reader_writer_lock);
  EXPECT_TRUE(wait.owners.empty());
}

TEST_P(ThreadWaitsOfReleases, AChildProcessIsFoundByItsEvent) {
  const Address process = heap_.object(heap_.process, 8), holder = heap_.object(heap_.state_holder, 8),
                state = heap_.object(heap_.process_state, 16);
  heap_.memory.put_u64(process + FakeHandles::kHolder, holder);
  heap_.memory.put_u64(holder + FakeHandles::kState, state);
  heap_.memory.put_u64(state + FakeHandles::kExited, waited_handle());
  heap_.memory.put_u32(state + FakeHandles::kPid, 4711);
  ThreadWait wait = wait_of({kWaitOne, kMain}, {process});
  EXPECT_EQ(wait.kind, WaitKind::child_process);
  EXPECT_EQ(wait.proof, Proof::proved);
  EXPECT_EQ(wait.object.type, "4711");
  EXPECT_EQ(wait_of({kWaitOne, kMain}, {state}).kind, WaitKind::child_process) << "its state is on the stack, too";
  heap_.memory.put_u32(state + FakeHandles::kPid, 0xffffffff);
  wait = wait_of({kWaitOne, kMain}, {process});
  EXPECT_EQ(wait.kind, WaitKind::child_process);
  EXPECT_TRUE(wait.object.type.empty()) << "no pid";
  heap_.memory.put_u64(state + FakeHandles::kExited, heap_.new_handle(heap_.new_waitable(1)));
  EXPECT_NE(wait_of({kWaitOne, kMain}, {process}).kind, WaitKind::child_process) << "not its event";
}

TEST_P(ThreadWaitsOfReleases, SeveralHandlesAreThoseOfTheArray) {
  const Address first = heap_.new_waitable(1), second = heap_.new_waitable(1);
  const Address one = heap_.new_handle(first), two = heap_.new_handle(second);
  const Address array = heap_.array_of({one, two}), stranger = heap_.array_of({heap_.new_handle(first)});
  if (is_managed()) heap_.wait(threads_[0], {first, second}, true);
  const ThreadWait wait =
      wait_of({kWaitAll, kMain}, is_managed() ? std::vector{stranger, array} : std::vector{array, stranger});
  EXPECT_EQ(wait.kind, WaitKind::wait_handles);
  EXPECT_EQ(wait.proof, is_managed() ? Proof::recorded : Proof::likely) << "an array may be of an earlier wait";
  ASSERT_EQ(wait.others.size(), 2u);
  EXPECT_EQ(wait.others[0].address, one);
  EXPECT_EQ(wait.others[1].address, two);
}

TEST_P(ThreadWaitsOfReleases, AnArrayLargerThanAnyWaitIsBounded) {
  std::vector<Address> handles(2 * ThreadWaits::kMostMembers, heap_.new_handle(heap_.new_waitable(1)));
  if (is_managed()) GTEST_SKIP() << ".NET 11 records its waits: no array is looked for";
  EXPECT_LE(wait_of({kWaitAll, kMain}, {heap_.array_of(handles)}).others.size(), ThreadWaits::kMostMembers);
}

TEST_P(ThreadWaitsOfReleases, AJoinNamesTheOtherThread) {
  const Address other = heap_.of(threads_[1]), self = heap_.of(threads_[0]);
  constexpr std::string_view kJoin = "System.Threading.Thread.Join(int)";
  ThreadWait wait = wait_of({kJoin, kMain}, {self, other});
  EXPECT_EQ(wait.kind, WaitKind::thread_join);
  EXPECT_EQ(wait.proof, Proof::likely);
  EXPECT_EQ(wait.object.address, other) << "each thread has its own object on its stack";
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002}));
  heap_.memory.put_u64(other + 24, 0x1000);
  EXPECT_EQ(wait_of({kJoin, kMain}, {other}).kind, WaitKind::none) << "a thread of none that is known";
}

TEST_P(ThreadWaitsOfReleases, AClassConstructorHasHolderAndClassOrIsNone) {
  constexpr Address kEntry = 0x7c0000004000;
  const Address slot = threads_[0].address + 24;
  heap_.memory.map(kEntry, 0x100);
  heap_.memory.put_u64(kEntry, threads_[2].address);
  heap_.memory.put_u64(kEntry + 16, heap_.lock_slim);
  heap_.memory.put_u64(slot, kEntry);
  const ThreadWait wait = wait_of({kMain});
  EXPECT_EQ(wait.kind, WaitKind::class_constructor);
  EXPECT_EQ(wait.object.type, "System.Threading.ReaderWriterLockSlim");
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1003}));
  heap_.memory.put_u64(slot, kEntry + 4);
  EXPECT_EQ(wait_of({kMain}).kind, WaitKind::none) << "not aligned";
  heap_.memory.put_u64(slot, 0x1000);
  EXPECT_EQ(wait_of({kMain}).kind, WaitKind::none) << "not readable";
  heap_.memory.put_u64(slot, kEntry);
  heap_.memory.put_u64(kEntry + 16, 0x1000);
  EXPECT_EQ(wait_of({kMain}).kind, WaitKind::none) << "no class";
  heap_.memory.put_u64(kEntry + 16, heap_.lock_slim);
  heap_.memory.put_u64(kEntry, kEntry);
  EXPECT_EQ(wait_of({kMain}).kind, WaitKind::none) << "no thread holds it";
}

TEST_P(ThreadWaitsOfReleases, ADeadThreadWaitsForNothing) {
  threads_[0].state |= 0x00000800;  // TS_Dead
  EXPECT_EQ(wait_of({"System.Threading.Thread.Sleep(int)", kMain}).kind, WaitKind::none);
}

TEST_P(ThreadWaitsOfReleases, ServantsOfTheRuntimeLoseNothing) {
  const auto is_for_an_object = [this](std::vector<std::string_view> methods) {
    std::vector<WaitFrame> frames;
    for (const std::string_view method : methods) frames.push_back({0, 0, true, method});
    return ThreadWaits::is_for_an_object({&threads_[0], nullptr, frames, call_});
  };
  EXPECT_TRUE(is_for_an_object({kWaitOne, kMain}));
  EXPECT_TRUE(is_for_an_object({"System.Threading.Lock.EnterSlow()", kMain}));
  EXPECT_FALSE(is_for_an_object({kWaitOne, "System.Threading.TimerQueue.TimerThread()"}));
  EXPECT_FALSE(is_for_an_object({"System.Threading.Thread.Sleep(int)", kMain}));
  EXPECT_FALSE(is_for_an_object({}));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
