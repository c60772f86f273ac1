#include "process/live/call_looks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace mixstack::process {
namespace {

TEST(CallLooks, CallsOfADisk) {
  EXPECT_EQ(disk_call_of(SYS_fsync), DiskCall::sync);
  EXPECT_EQ(disk_call_of(SYS_fdatasync), DiskCall::sync);
  EXPECT_EQ(disk_call_of(SYS_ftruncate), DiskCall::truncate);
  EXPECT_EQ(disk_call_of(SYS_pread64), DiskCall::read);
  EXPECT_EQ(disk_call_of(SYS_pwrite64), DiskCall::write);
  EXPECT_EQ(disk_call_of(SYS_futex), DiskCall::none);
  EXPECT_EQ(disk_call_of(-1), DiskCall::none);
}

TEST(CallLooks, AThreadThatReadsAPipeDoesNotWaitForADisk) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::atomic<bool> reads = false;
  std::thread reader([&] {
    char byte = 0;
    reads = true;
    (void)!::read(ends[0], &byte, 1);
  });
  while (!reads) std::this_thread::yield();
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  CallLooks looks(*proc);
  const bool may_look = looks.look() && looks.look();
  (void)!::write(ends[1], "x", 1);
  reader.join();
  ::close(ends[0]);
  ::close(ends[1]);
  if (!may_look) GTEST_SKIP() << "calls cannot be seen here";
  EXPECT_EQ(looks.tally().looks, 2u);
  EXPECT_TRUE(looks.tally().calls.empty());
}

TEST(CallLooks, ThreadsThatWaitForADiskAreCountedByFile) {
  char path[] = "/tmp/mixstack_call_looks_XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    while (!ends) {
      (void)!::pwrite(file, "x", 1, 0);
      (void)::fsync(file);
    }
  });
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  CallLooks looks(*proc);
  bool may_look = true;
  for (int i = 0; i < 200 && may_look && looks.tally().calls.empty(); i++) {
    may_look = looks.look();
    ::usleep(2000);
  }
  ends = true;
  writer.join();
  ::close(file);
  ::unlink(path);
  const CallTally tally = looks.tally();
  if (!may_look || tally.calls.empty()) GTEST_SKIP() << "calls cannot be seen here, or this disk is memory";
  EXPECT_EQ(tally.calls.front().file, path);
  ASSERT_EQ(tally.threads.size(), 1u);
  EXPECT_GE(tally.threads.front().seen, 1u);
}

}  // namespace
}  // namespace mixstack::process
