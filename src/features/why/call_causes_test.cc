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

/// Two seconds in which one connection gets 20 bytes at a time.
TwoLooks sending() {
  TwoLooks looks;
  *looks.after.kernel.system += milliseconds(1550);
  looks.evidence.sent = {{7, "10.0.0.1:5000", 900'000, 45'000, 20}, {8, "10.0.0.2:80", 90'000'000, 60'000, 9}};
  return looks;
}

TEST(CallCauses, ManyTinyPackets) {
  TwoLooks looks = sending();
  EXPECT_FALSE(writes_cause(looks.before, looks.after, looks.evidence)) << "no calls of write";
  const auto cause = sends_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, SlowKind::writes);
  EXPECT_TRUE(cause->is_certain);
  EXPECT_EQ(cause->what, "22,500 packets/s of 20 bytes to 10.0.0.1:5000; 82 % of its processor time is the kernel's");
  EXPECT_TRUE(cause->more.empty());
  looks.evidence.sent[1].bytes_sent = 1'800'000;
  const auto both = sends_cause(looks.before, looks.after, looks.evidence);
  EXPECT_NE(both->what.find(" to 2 connections;"), std::string::npos) << both->what;
  ASSERT_EQ(both->more.size(), 2u);
  EXPECT_EQ(both->more[0], "57 % of them to 10.0.0.2:80");
}

TEST(CallCauses, BytesThatCostMuchAreSentByFewAtATime) {
  TwoLooks looks = sending();
  looks.evidence.sent = {{7, "10.0.0.1:5000", 32'000'000, 46'000, 20}};
  EXPECT_FALSE(sends_cause(looks.before, looks.after, looks.evidence)) << "the kernel made packets of 700 bytes";
  const auto cause = costly_sends_cause(looks.evidence, 0.7);
  ASSERT_TRUE(cause);
  EXPECT_FALSE(cause->is_certain);
  EXPECT_EQ(cause->what, "16 MB/s to 10.0.0.1:5000 in calls of few bytes: 44 ns for each byte, 0.7 processors");
  EXPECT_FALSE(costly_sends_cause(looks.evidence, 0.1)) << "little";
  looks.evidence.sent.push_back({8, "10.0.0.2:80", 90'000'000, 60'000, 60'000});
  EXPECT_FALSE(costly_sends_cause(looks.evidence, 0.7)) << "answers may cost as much";
  looks.evidence.sent.resize(1);
  looks.evidence.sent[0].bytes_sent = 4'000'000'000;
  EXPECT_FALSE(costly_sends_cause(looks.evidence, 0.9)) << "much is sent";
  looks.evidence.sent.clear();
  EXPECT_FALSE(costly_sends_cause(looks.evidence, 0.9)) << "to nobody that is known";
}

TEST(CallCauses, AnswersAndLargePacketsAreHealthy) {
  TwoLooks looks = sending();
  looks.evidence.sent[0].packets_received = 45'000;
  EXPECT_FALSE(sends_cause(looks.before, looks.after, looks.evidence)) << "each packet is answered";
  looks = sending();
  looks.evidence.sent[0].bytes_sent *= 40;
  EXPECT_FALSE(sends_cause(looks.before, looks.after, looks.evidence)) << "of 800 bytes";
  looks = sending();
  looks.evidence.sent.assign(100, {7, "10.0.0.1:5000", 9000, 450, 0});
  EXPECT_FALSE(sends_cause(looks.before, looks.after, looks.evidence)) << "to very many, few to each";
  looks = sending();
  looks.after.kernel.system = *looks.before.kernel.system + milliseconds(60);
  EXPECT_FALSE(sends_cause(looks.before, looks.after, looks.evidence)) << "they cost little";
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
