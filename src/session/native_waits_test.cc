#include "session/native_waits.h"

#include <gtest/gtest.h>

#include <array>

#include "support/sparse_memory.h"

namespace mixstack::session {
namespace {

constexpr Address kLock = 0x1000, kTime = 0x2000;
constexpr std::uint64_t kWait = 0, kWaitBitsetRealtime = 0x189, kLockPi = 6;
constexpr ThreadId kWaiter = 11, kHolder = 12, kHolderInside = 2;

/// A thread in a futex call that this function made, and another one, whose id inside of its namespace is another one.
class NativeWaitsTest : public ::testing::Test {
 protected:
  NativeWaitsTest() { memory_.map(kLock, 64); }

  ThreadWait wait_in(const char* function, std::array<std::uint64_t, 6> arguments) {
    ProcessDump dump;
    dump.symbols.resize(2);
    dump.symbols[1].name = function;
    dump.symbols[1].module = module_;
    dump.threads.resize(2);
    dump.threads[0].tid = kWaiter;
    dump.threads[0].ns_tid = 1;
    dump.threads[0].captured = true;
    dump.threads[0].facts.arguments = arguments;
    dump.threads[0].trace.frames.emplace_back().kind = FrameKind::native;
    dump.threads[0].symbols = {1};
    dump.threads[1].tid = kHolder;
    dump.threads[1].ns_tid = kHolderInside;
    read_native_waits(dump, memory_);
    return dump.threads[0].wait.value_or(ThreadWait{});
  }

  void lock_mutex(std::uint32_t word, std::uint32_t kind = 0) {
    memory_.put_u32(kLock, word);
    memory_.put_u32(kLock + 8, kHolderInside);
    memory_.put_u32(kLock + 16, kind);
  }
  void lock_rwlock(std::uint32_t readers, std::uint32_t phase, std::uint32_t next, std::uint32_t writer) {
    memory_.put_u32(kLock, readers);
    memory_.put_u32(kLock + 8, phase);
    memory_.put_u32(kLock + 12, next);
    memory_.put_u32(kLock + 24, writer);
  }

  test::SparseMemory memory_;
  std::string module_ = "libc.so.6";
};

TEST_F(NativeWaitsTest, AMutexIsWaitedForForEver) {
  lock_mutex(2);
  const ThreadWait wait = wait_in("pthread_mutex_lock", {kLock, 0x80, 2, 0, 0, 0});
  EXPECT_EQ(wait.kind, WaitKind::native_mutex);
  EXPECT_EQ(wait.owners, std::vector<std::uint32_t>{kHolder});
  EXPECT_EQ(wait.object.address, kLock);
  EXPECT_FALSE(wait.timeout || wait.gives_up);
}

TEST_F(NativeWaitsTest, AMutexIsWaitedForForSomeTime) {
  lock_mutex(2);
  memory_.put_u64(kTime, 3);
  memory_.put_u64(kTime + 8, 500'000'000);
  const ThreadWait relative = wait_in("pthread_mutex_timedlock", {kLock, kWait, 2, kTime, 0, 0});
  EXPECT_EQ(relative.owners, std::vector<std::uint32_t>{kHolder});
  EXPECT_EQ(relative.timeout, std::chrono::milliseconds(3500));
  EXPECT_FALSE(relative.gives_up);
  for (const std::uint64_t operation : {kWaitBitsetRealtime, kLockPi}) {
    const ThreadWait absolute = wait_in("__pthread_mutex_clocklock_common", {kLock, operation, 2, kTime, 0, 0});
    EXPECT_EQ(absolute.owners, std::vector<std::uint32_t>{kHolder});
    EXPECT_FALSE(absolute.timeout) << "a point in time";
    EXPECT_TRUE(absolute.gives_up);
  }
}

TEST_F(NativeWaitsTest, ATimeThatCannotBeReadIsOne) {
  lock_mutex(2);
  EXPECT_TRUE(wait_in("pthread_mutex_timedlock", {kLock, kWait, 2, 0x9000, 0, 0}).gives_up);
  memory_.put_u64(kTime, ~std::uint64_t{0} >> 1);
  EXPECT_TRUE(wait_in("pthread_mutex_timedlock", {kLock, kWait, 2, kTime, 0, 0}).gives_up);
}

TEST_F(NativeWaitsTest, MutexesWithTheOwnerInTheWord) {
  constexpr std::uint32_t kRobust = 0x10, kWaitedFor = 0x80000000;
  lock_mutex(kHolderInside | kWaitedFor, kRobust);
  EXPECT_EQ(wait_in("__pthread_mutex_lock_full", {kLock, 0, 0, 0, 0, 0}).owners, std::vector<std::uint32_t>{kHolder});
  lock_mutex(77 | kWaitedFor, kRobust);
  EXPECT_EQ(wait_in("__pthread_mutex_lock_full", {kLock, 0, 0, 0, 0, 0}).kind, WaitKind::none);
  lock_mutex(kHolderInside | kWaitedFor);
  EXPECT_EQ(wait_in("pthread_mutex_lock", {kLock, 0, 0, 0, 0, 0}).kind, WaitKind::none) << "of no such kind";
}

TEST_F(NativeWaitsTest, AReadWriteLockHasItsWriter) {
  lock_rwlock(0xb, 3, 3, kHolderInside);
  for (const Address at : {kLock + 8, kLock + 12}) {
    const ThreadWait wait = wait_in("pthread_rwlock_wrlock", {at, 0x189, 3, 0, 0, 0});
    EXPECT_EQ(wait.kind, WaitKind::native_rwlock);
    EXPECT_EQ(wait.proof, Proof::proved);
    EXPECT_EQ(wait.object.address, kLock);
    EXPECT_EQ(wait.object.detail, "") << "who waits to read is counted, too";
    EXPECT_EQ(wait.owners, std::vector<std::uint32_t>{kHolder});
    EXPECT_FALSE(wait.is_reading || wait.gives_up);
  }
  EXPECT_TRUE(wait_in("pthread_rwlock_rdlock", {kLock + 8, 0x189, 3, 0, 0, 0}).is_reading);
  EXPECT_TRUE(wait_in("pthread_rwlock_clockwrlock", {kLock + 12, 0x189, 3, kTime, 0, 0}).gives_up);
  lock_rwlock(0xf, 0, 0, kHolderInside);
  const ThreadWait preferring = wait_in("pthread_rwlock_rdlock", {kLock, 0x189, 0xf, 0, 0, 0});
  EXPECT_EQ(preferring.object.address, kLock);
  EXPECT_EQ(preferring.owners, std::vector<std::uint32_t>{kHolder});
}

TEST_F(NativeWaitsTest, ReadersAreCountedAndNotKnown) {
  lock_rwlock(0x12, 2, 1, 0);  // two read, and a writer is next
  const ThreadWait wait = wait_in("pthread_rwlock_wrlock", {kLock + 8, 0x189, 2, 0, 0, 0});
  EXPECT_EQ(wait.kind, WaitKind::native_rwlock);
  EXPECT_EQ(wait.object.detail, "2 read");
  EXPECT_TRUE(wait.owners.empty());
}

TEST_F(NativeWaitsTest, WhatIsNoReadWriteLockIsNone) {
  lock_rwlock(0xb, 3, 3, 77);
  EXPECT_EQ(wait_in("pthread_rwlock_wrlock", {kLock + 8, 0x189, 3, 0, 0, 0}).kind, WaitKind::none) << "no such thread";
  lock_rwlock(0xb, 1, 3, kHolderInside);
  EXPECT_EQ(wait_in("pthread_rwlock_wrlock", {kLock + 8, 0x189, 3, 0, 0, 0}).kind, WaitKind::none) << "it has gone on";
  EXPECT_EQ(wait_in("pthread_rwlock_wrlock", {kLock + 9, 0x189, 3, 0, 0, 0}).kind, WaitKind::none);
  EXPECT_EQ(wait_in("pthread_rwlock_wrlock", {4, 0x189, 3, 0, 0, 0}).kind, WaitKind::none);
  memory_.put_u32(kLock + 28, 5);
  EXPECT_EQ(wait_in("pthread_rwlock_wrlock", {kLock + 12, 0x189, 3, 0, 0, 0}).kind, WaitKind::none);
}

TEST_F(NativeWaitsTest, ALibcWithoutSymbolsOfItsOwn) {
  const std::array<std::uint64_t, 6> timed{kLock, kWaitBitsetRealtime, 2, kTime, 0, 0};
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::none) << "nothing is locked";
  lock_mutex(2);
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::none) << "and used by nobody";
  memory_.put_u32(kLock + 12, 1);
  const ThreadWait wait = wait_in("", timed);
  EXPECT_EQ(wait.kind, WaitKind::native_mutex);
  EXPECT_EQ(wait.owners, std::vector<std::uint32_t>{kHolder});
  EXPECT_EQ(wait.proof, Proof::proved);
  memory_.put_u32(kLock + 12, 3);
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::native_mutex) << "two wait for a condition";
  EXPECT_EQ(wait_in("pthread_cond_wait", timed).kind, WaitKind::none) << "a name says something else";
  module_ = "libshop.so";
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::none) << "whose locks are not known";
  module_ = "libc.so.6";
  lock_mutex(1);
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::none) << "nobody waits for it";
  lock_mutex(2, 0x44);
  EXPECT_EQ(wait_in("", timed).kind, WaitKind::none) << "no such kind";
  lock_mutex(0x80000000 | kHolderInside, 0x10);
  EXPECT_EQ(wait_in("", {kLock, 0, 0, 0, 0, 0}).owners, std::vector<std::uint32_t>{kHolder}) << "robust";
}

TEST_F(NativeWaitsTest, AJoinInALibcWithoutSymbolsOfItsOwn) {
  memory_.put_u32(kLock, kHolderInside);
  const ThreadWait wait = wait_in("", {kLock, 0x109, kHolderInside, 0, 0, 0});
  EXPECT_EQ(wait.kind, WaitKind::thread_join);
  EXPECT_EQ(wait.owners, std::vector<std::uint32_t>{kHolder});
  EXPECT_EQ(wait_in("", {kLock, 0x189, kHolderInside, 0, 0, 0}).kind, WaitKind::none) << "the kernel wakes no such one";
  EXPECT_EQ(wait_in("", {kLock, 0x109, 77, 0, 0, 0}).kind, WaitKind::none);
}

}  // namespace
}  // namespace mixstack::session
