#include "output/report/merge.h"

#include <gtest/gtest.h>

#include "support/sample_dump.h"

namespace mixstack::report {
namespace {

using testing::sample_dump;

TEST(Merge, SameStacksAreOneGroupLargestFirst) {
  const ProcessDump dump = sample_dump();
  const auto groups = merge_stacks(dump, {});
  ASSERT_EQ(groups.size(), 3u);
  ASSERT_EQ(groups[0].threads.size(), 2u);
  EXPECT_EQ(groups[0].threads[0]->tid, 4711u);
  EXPECT_EQ(groups[0].threads[1]->tid, 4713u);
  EXPECT_TRUE(groups[0].same_addresses);
  EXPECT_EQ(groups[1].threads[0]->tid, 4712u);
}

TEST(Merge, OtherCallsInTheSameManagedMethodAreOtherStacks) {
  ProcessDump dump = sample_dump();
  dump.threads[2].trace.frames[2].pc = CodeAddress::after_call(0x7f12a0001299);
  EXPECT_EQ(merge_stacks(dump, {}).size(), 4u);
}

TEST(Merge, AnInterruptedInstructionIsNoCall) {
  ProcessDump dump = sample_dump();
  for (const std::size_t t : {std::size_t{0}, std::size_t{2}}) {
    dump.threads[t].trace.frames[0].kind = FrameKind::managed;
    dump.threads[t].trace.frames[0].pc = CodeAddress::exact(0x7f12a0001299 + t);
  }
  const auto groups = merge_stacks(dump, {});
  ASSERT_EQ(groups[0].threads.size(), 2u);
  EXPECT_FALSE(groups[0].same_addresses);
}

TEST(Merge, OtherAddressesInTheSameNativeFunctionsStayTogether) {
  ProcessDump dump = sample_dump();
  dump.threads[2].trace.frames[4].pc = CodeAddress::after_call(0x7f12a06fa1c9);
  const auto groups = merge_stacks(dump, {});
  ASSERT_EQ(groups[0].threads.size(), 2u);
  EXPECT_FALSE(groups[0].same_addresses);
}

TEST(Merge, AnotherStopReasonIsAnotherStack) {
  ProcessDump dump = sample_dump();
  dump.threads[2].trace.stop = StopReason::stack_truncated;
  EXPECT_EQ(merge_stacks(dump, {}).size(), 4u);
}

TEST(Merge, HiddenFramesDoNotCount) {
  ProcessDump dump = sample_dump();
  dump.threads[2].symbols[0] = 4;
  EXPECT_EQ(merge_stacks(dump, {}).size(), 4u);
  ReportOptions options;
  options.managed_only = true;
  EXPECT_EQ(merge_stacks(dump, options)[0].threads.size(), 2u);
}

}  // namespace
}  // namespace mixstack::report
