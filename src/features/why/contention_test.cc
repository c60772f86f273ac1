#include "features/why/contention.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

ThreadDump& add(ProcessDump& dump, WaitKind kind, Address object, std::vector<std::uint32_t> owners) {
  ThreadDump& thread = dump.threads.emplace_back();
  thread.tid = static_cast<ThreadId>(dump.threads.size());
  thread.wait.emplace();
  thread.wait->kind = kind;
  thread.wait->proof = Proof::recorded;
  thread.wait->object.address = object;
  thread.wait->owners = std::move(owners);
  return thread;
}

TEST(Contention, LocksThatSeveralWaitFor) {
  ProcessDump dump;
  add(dump, WaitKind::lock, 0x2000, {9});
  add(dump, WaitKind::monitor, 0x1000, {9});
  add(dump, WaitKind::lock, 0x2000, {8}).wait->proof = Proof::proved;
  add(dump, WaitKind::lock, 0x2000, {9});
  add(dump, WaitKind::monitor, 0x3000, {});
  add(dump, WaitKind::monitor, 0x3000, {});
  const auto found = contentions(dump);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].waiters, (std::vector<std::uint32_t>{1, 3, 4}));
  EXPECT_EQ(found[0].owners, (std::vector<std::uint32_t>{9, 8}));
  EXPECT_EQ(found[0].proof, Proof::proved);
  EXPECT_EQ(found[1].object.address, 0x3000u);
  EXPECT_TRUE(found[1].owners.empty());
}

TEST(Contention, TurnsAndEndsAreNone) {
  ProcessDump dump;
  for (const WaitKind kind : {WaitKind::semaphore_slim, WaitKind::reset_event_slim, WaitKind::wait_handle,
                              WaitKind::blocking_collection, WaitKind::monitor_wait})
    for (int i = 0; i < 2; i++) add(dump, kind, 0x1000, {});
  for (int i = 0; i < 2; i++) add(dump, WaitKind::task, 0x2000, {9});
  EXPECT_TRUE(contentions(dump).empty());
}

TEST(Contention, OfTwoLooks) {
  ProcessDump dump;
  for (int i = 0; i < 2; i++) add(dump, WaitKind::lock, 0x2000, {});
  const auto before = contentions(dump);
  for (int i = 0; i < 2; i++) add(dump, WaitKind::lock, 0x4000, {});
  auto now = contentions(dump);
  ASSERT_EQ(now.size(), 2u);
  mark_lasting(before, now);
  EXPECT_TRUE(now[0].is_lasting);
  EXPECT_FALSE(now[1].is_lasting);
}

}  // namespace
}  // namespace mixstack::why
