#include "features/why/processes.h"

#include <gtest/gtest.h>

#include "features/why/judge.h"
#include "features/why/lasting.h"

namespace mixstack::why {
namespace {

using Back = OtherProcess::WaitsForUs;

ProcessDump waiting_for(OtherProcess other) {
  ProcessDump dump;
  ThreadDump& thread = dump.threads.emplace_back();
  thread.tid = 1;
  thread.facts.cpu = std::chrono::milliseconds(1);
  thread.wait.emplace();
  thread.wait->kind = WaitKind::child_process;
  thread.wait->proof = Proof::recorded;
  other.pid = 12;
  thread.wait->processes = {std::move(other)};
  return dump;
}

std::vector<VerdictKind> kinds(const ProcessDump& dump) {
  std::vector<VerdictKind> found;
  for (const Verdict& v : judge(dump)) found.push_back(v.kind);
  return found;
}

TEST(Processes, ACycleNeedsALockOrAFullPipe) {
  OtherProcess other;
  EXPECT_TRUE(kinds(waiting_for(other)).empty());
  other.waits_for_us = Back::may;
  EXPECT_TRUE(kinds(waiting_for(other)).empty()) << "each waits for the other's words";
  other.holds = true;
  EXPECT_EQ(kinds(waiting_for(other)), std::vector{VerdictKind::process_cycle});
  other.holds = false;
  other.waits_for_us = Back::is_held_up;
  const ProcessDump dump = waiting_for(other);
  EXPECT_EQ(kinds(dump), std::vector{VerdictKind::process_cycle});
  EXPECT_FALSE(judge(dump).front().is_certain);
}

TEST(Processes, AnyOfSeveralMayEndIt) {
  OtherProcess other;
  other.waits_for_us = Back::is_held_up;
  ProcessDump dump = waiting_for(other);
  dump.threads[0].wait->processes.emplace_back().pid = 13;
  EXPECT_TRUE(kinds(dump).empty());
  dump = waiting_for(other);
  dump.threads[0].wait->timeout = std::chrono::seconds(1);
  EXPECT_TRUE(kinds(dump).empty());
}

TEST(Processes, OneThatIsStopped) {
  OtherProcess other;
  other.is_stopped = true;
  EXPECT_EQ(kinds(waiting_for(other)), std::vector{VerdictKind::stopped_process});
}

TEST(Processes, LastAsLongAsNobodyHasRun) {
  OtherProcess other;
  other.waits_for_us = Back::is_held_up;
  other.cpu = 1000;
  const ProcessDump first = waiting_for(other);
  const auto before = judge(first);
  const std::vector<ThreadId> rested{1};
  EXPECT_EQ(must_rest(first, before[0]), rested);
  EXPECT_EQ(lasting(first, before, first, before, rested).size(), 1u);
  EXPECT_TRUE(lasting(first, before, first, before, {}).empty());
  other.cpu = 2000;
  const ProcessDump second = waiting_for(other);
  EXPECT_TRUE(lasting(first, before, second, judge(second), rested).empty());
}

}  // namespace
}  // namespace mixstack::why
