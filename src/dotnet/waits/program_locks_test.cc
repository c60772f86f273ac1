// Locks that a program wrote itself, in a runtime laid out by hand.
#include <gtest/gtest.h>

#include "dotnet/waits/thread_waits.h"
#include "support/fake_waits.h"

namespace mixstack::dotnet::objects {
namespace {

/// Shop.Gate, that has its owner by reference, the number of an owner, how often it was entered, and an event.
class FakeGates : public test::FakeWaits {
 public:
  static constexpr std::uint32_t kOwner = 8, kEvent = 16, kOwnerId = 24, kOwnerCount = 28;

  FakeGates() {
    test::MetadataBuilder b = library("gates.dll", "gates");
    const auto blob = object_field();
    b.type_with_fields("Shop", "Gate", 1, 1);
    b.type_with_fields("Shop", "WorkLock", 5, 1);
    for (const char* field : {"_owner", "_free", "_ownerId", "_ownerCount", "_by"}) b.field(field, blob);
    const Address gates = module(b.build());
    gate = type(gates, 2, object_type, 16 + 24, 0, 4,
                {{1, kOwner - 8, 18}, {2, kEvent - 8, 18}, {3, kOwnerId - 8, 8}, {4, kOwnerCount - 8, 8}});
    work_lock = type(gates, 3, object_type, 16 + 8, 0, 1, {{5, kOwner - 8, 18}});
  }
  Address new_gate() { return object(gate, 24); }
  Address gate = 0, work_lock = 0;
};

class ProgramLocksTest : public ::testing::Test {
 protected:
  /// The wait of the first thread, by the methods of its frames and words of its stack.
  ThreadWait wait_of(std::vector<std::string_view> methods, const std::vector<Address>& words,
                     bool is_pausing = false) {
    const ManagedThread& t = threads_.front();
    std::vector<WaitFrame> frames;
    for (std::size_t i = 0; i < methods.size(); i++) {
      const Address sp = t.stack.begin + 0x100 * i;
      frames.push_back({sp, sp + 0x100, !methods[i].empty() && methods[i][0] != '_', methods[i]});
    }
    for (std::size_t i = 0; i < 8; i++)
      heap_.memory.put_u64(t.stack.begin + 8 * i, i < words.size() ? words[i] : Address{0});
    return ThreadWaits(objects_, threads_, true, nullptr, 0).of({&t, nullptr, frames, {1, 0, 0, 0, 0, 0}, is_pausing});
  }
  static constexpr std::string_view kEnter = "Shop.Gate.Enter()", kMain = "Shop.Program.Main()";
  static constexpr std::string_view kYields = "System.Threading.Thread.Yield()",
                                    kSpins = "System.Threading.SpinWait.SpinOnceCore(int)",
                                    kNaps = "System.Threading.Thread.Sleep(int)",
                                    kWaits = "System.Threading.WaitHandle.WaitOneNoCheck(int)";

  FakeGates heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  std::vector<ManagedThread> threads_{heap_.add_thread(1), heap_.add_thread(2), heap_.add_thread(3)};
};

TEST_F(ProgramLocksTest, WhoSpinsOrNapsInALocksMethodWaitsForItsOwner) {
  const Address gate = heap_.new_gate();
  for (const std::string_view method : {kYields, kSpins, kNaps}) {
    heap_.memory.put_u64(gate + FakeGates::kOwner, 0);
    EXPECT_NE(wait_of({method, kEnter, kMain}, {gate}).kind, WaitKind::lock) << "nobody holds it: " << method;
    heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[1]));
    const ThreadWait wait = wait_of({method, kEnter, kMain}, {gate});
    EXPECT_EQ(wait.kind, WaitKind::lock) << method;
    EXPECT_EQ(wait.proof, Proof::likely) << "the field may be of before";
    EXPECT_EQ(wait.object.address, gate);
    EXPECT_EQ(wait.object.detail, "by its field _owner");
    EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002}));
    EXPECT_NE(wait_of({method, kMain}, {gate}).kind, WaitKind::lock) << "in no method of the lock: " << method;
    EXPECT_NE(wait_of({method, kEnter, kMain}, {}).kind, WaitKind::lock) << "no lock: " << method;
  }
  EXPECT_EQ(wait_of({kEnter, kMain}, {gate}).kind, WaitKind::none) << "it runs";
}

/// The JIT inlines Thread.Yield and Thread.SpinWait.
TEST_F(ProgramLocksTest, WhatIsInlinedIsKnownByWhatTheRuntimeDoes) {
  const Address gate = heap_.new_gate();
  heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[1]));
  EXPECT_EQ(wait_of({"__sched_yield", "", "", kEnter, kMain}, {gate}).owners, (std::vector<std::uint32_t>{1002}));
  EXPECT_EQ(wait_of({"", kEnter, kMain}, {gate}, true).owners, (std::vector<std::uint32_t>{1002}));
  EXPECT_EQ(wait_of({"", kEnter, kMain}, {gate}).kind, WaitKind::none) << "the runtime works for it";
  EXPECT_EQ(wait_of({kEnter, "__sched_yield", kMain}, {gate}).kind, WaitKind::none) << "it runs";
}

TEST_F(ProgramLocksTest, ANumberMustBeCalledAnOwnersId) {
  const Address gate = heap_.new_gate();
  heap_.memory.put_u32(gate + FakeGates::kOwnerCount, 2);
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::none) << "a count";
  heap_.memory.put_u32(gate + FakeGates::kOwnerId, 3);
  const ThreadWait wait = wait_of({kYields, kEnter}, {gate});
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1003}));
  EXPECT_EQ(wait.object.detail, "by its field _ownerId");
  heap_.memory.put_u32(gate + FakeGates::kOwnerId, 77);
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::none) << "no thread's";
}

TEST_F(ProgramLocksTest, WhatNamesTwoOwnersIsNone) {
  const Address gate = heap_.new_gate(), other = heap_.new_gate();
  heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[1]));
  heap_.memory.put_u32(gate + FakeGates::kOwnerId, 3);
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::none) << "by two fields";
  heap_.memory.put_u32(gate + FakeGates::kOwnerId, 2);
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::lock) << "by two fields that name the same";
  heap_.memory.put_u64(other + FakeGates::kOwner, heap_.of(threads_[2]));
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate, other}).kind, WaitKind::none) << "by two objects";
  heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[0]));
  heap_.memory.put_u32(gate + FakeGates::kOwnerId, 0);
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::none) << "nobody waits for itself";
}

TEST_F(ProgramLocksTest, AReferenceOfWhatIsCalledALockNeedsNoName) {
  const Address lock = heap_.object(heap_.work_lock, 8);
  heap_.memory.put_u64(lock + FakeGates::kOwner, heap_.of(threads_[1]));
  EXPECT_EQ(wait_of({kSpins, "Shop.WorkLock.Take()"}, {lock}).owners, (std::vector<std::uint32_t>{1002}));
  EXPECT_EQ(wait_of({kSpins, "Shop.WorkLocks.Take()"}, {lock}).kind, WaitKind::none) << "another type's method";
  EXPECT_EQ(wait_of({kSpins, "Shop.WorkLock<int>.Take()"}, {lock}).kind, WaitKind::lock);
}

TEST_F(ProgramLocksTest, WhoWaitsForAnEventOfALockWaitsForTheLock) {
  const Address gate = heap_.new_gate(), waitable = heap_.new_waitable(1), event = heap_.new_handle(waitable);
  heap_.wait(threads_[0], {waitable});
  heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[1]));
  EXPECT_EQ(wait_of({kWaits, kMain}, {event, gate}).kind, WaitKind::wait_handle) << "of another event";
  heap_.memory.put_u64(gate + FakeGates::kEvent, event);
  const ThreadWait wait = wait_of({kWaits, kMain}, {event, gate});
  EXPECT_EQ(wait.kind, WaitKind::lock) << "in whichever method";
  EXPECT_EQ(wait.object.address, gate);
  EXPECT_EQ(wait.owners, (std::vector<std::uint32_t>{1002}));
  EXPECT_EQ(wait_of({kWaits, kMain}, {gate}).object.address, gate) << "the event is known by the lock's field alone";
  heap_.memory.put_u64(gate + FakeGates::kOwner, 0);
  const ThreadWait alone = wait_of({kWaits, kMain}, {gate});
  EXPECT_EQ(alone.object.address, event);
  EXPECT_EQ(alone.proof, Proof::recorded);
  const Address other = heap_.new_gate();
  heap_.memory.put_u64(other + FakeGates::kEvent, heap_.new_handle(waitable));
  EXPECT_NE(wait_of({kWaits, kMain}, {gate, other}).object.address, event)
      << "one of two objects, it is not known which";
}

TEST_F(ProgramLocksTest, GarbageInEveryWordIsSurvived) {
  const Address gate = heap_.new_gate();
  heap_.memory.put_u64(gate + FakeGates::kOwner, heap_.of(threads_[1]));
  for (Address at = gate; at < gate + 32; at += 8) {
    const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
    for (const std::uint64_t garbage : {~std::uint64_t{0}, std::uint64_t{gate}, std::uint64_t{heap_.gate}, at + 4}) {
      heap_.memory.put_u64(at, garbage);
      (void)wait_of({kYields, kEnter}, {gate});
      heap_.memory.put_u64(at, before);
    }
  }
  EXPECT_EQ(wait_of({kYields, kEnter}, {gate}).kind, WaitKind::lock);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
