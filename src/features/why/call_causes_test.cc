#include "features/why/call_causes.h"

#include <gtest/gtest.h>

#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using process::DiskCall;
using test::fact;
using test::milliseconds;
using test::TwoLooks;

TwoLooks writing() {
  TwoLooks looks;
  KernelCounters& b = looks.after.kernel;
  *b.writes += 450'000;
  *b.written_bytes += 900'000;
  *b.threads[1].writes += 450'000;
  *b.system += milliseconds(1600);
  looks.evidence.changed = {{"/var/lib/db", 4096}, {"/var/log/x.log", 980'000}};
  return looks;
}

TEST(CallCauses, ManyTinyWrites) {
  const TwoLooks looks = writing();
  const auto cause = writes_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_TRUE(cause->is_certain);
  EXPECT_EQ(cause->what, "225,000/s of 2 bytes to /var/log/x.log; 82 % of its processor time is the kernel's");
  ASSERT_EQ(cause->more.size(), 1u);
  EXPECT_EQ(cause->more[0], "100 % of them by thread 42 \"worker\"");
  EXPECT_NEAR(fact(*cause, "bytes_each"), 2.2, 0.1);
}

TEST(CallCauses, AFileThatDidNotGrowSoMuchIsNotNamedAsSure) {
  TwoLooks looks = writing();
  looks.evidence.changed = {{"/var/log/x.log", 0}};
  EXPECT_NE(writes_cause(looks.before, looks.after, looks.evidence)->what.find("perhaps to /var/log/x.log"),
            std::string::npos);
  looks.evidence.changed = {{"/var/log/x.log", 0}, {"/var/log/y.log", 5}};
  EXPECT_EQ(writes_cause(looks.before, looks.after, looks.evidence)->what.find("/var"), std::string::npos);
}

TEST(CallCauses, LargeOrFewWritesAreHealthy) {
  TwoLooks looks = writing();
  *looks.after.kernel.written_bytes += 450'000ull * 4096;
  EXPECT_FALSE(writes_cause(looks.before, looks.after, looks.evidence));
  const TwoLooks healthy;
  EXPECT_FALSE(writes_cause(healthy.before, healthy.after, healthy.evidence));
  looks = writing();
  looks.after.kernel.system = *looks.before.kernel.system + milliseconds(60);
  EXPECT_TRUE(writes_cause(looks.before, looks.after, looks.evidence)) << "so many that they are worth a word";
  *looks.after.kernel.writes = *looks.before.kernel.writes + 40'000;
  *looks.after.kernel.written_bytes = *looks.before.kernel.written_bytes + 80'000;
  EXPECT_FALSE(writes_cause(looks.before, looks.after, looks.evidence));
}

TEST(CallCauses, AWorkerThatFlushesAllTheTime) {
  TwoLooks looks;
  looks.evidence.calls = {
      150, {{DiskCall::sync, 74, "/var/lib/wal", 70}, {DiskCall::truncate, 77, "/var/lib/wal", 5}}, {{42, 75}}};
  const auto cause = disk_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "thread 42 waits 50 % of the time: fsync of /var/lib/wal");
  EXPECT_DOUBLE_EQ(cause->share, 0.5);
  EXPECT_EQ(cause->more.size(), 1u);
}

TEST(CallCauses, SeveralThreadsWaitForTheDisk) {
  TwoLooks looks;
  looks.evidence.calls = {100, {{DiskCall::sync, 75, "/a", 210}}, {{42, 80}, {43, 70}, {44, 60}}};
  const auto cause = disk_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "2.1 threads wait for it at any time: fdatasync of /a");
  EXPECT_DOUBLE_EQ(fact(*cause, "waiting_threads"), 2.1);
}

TEST(CallCauses, AFlushNowAndThenIsHealthy) {
  TwoLooks looks;
  looks.evidence.calls = {150, {{DiskCall::sync, 74, "/log", 20}}, {{42, 20}}};
  EXPECT_FALSE(disk_cause(looks.before, looks.after, looks.evidence));
  looks.evidence.calls = {10, {{DiskCall::sync, 74, "/log", 10}}, {{42, 10}}};
  EXPECT_FALSE(disk_cause(looks.before, looks.after, looks.evidence)) << "too few looks";
}

}  // namespace
}  // namespace mixstack::why
