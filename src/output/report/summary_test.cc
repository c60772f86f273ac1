#include "output/report/summary.h"

#include <gtest/gtest.h>

#include "support/sample_dump.h"

namespace mixstack::report {
namespace {

TEST(Summary, CountsWhatIsMissing) {
  const Summary summary = summarize(testing::sample_dump());
  EXPECT_EQ(summary.not_captured, 1u);
  EXPECT_EQ(summary.cut, 1u);
  EXPECT_TRUE(is_partial(summary));
  EXPECT_EQ(summary_words(summary),
            "1 of 4 threads could not be captured. 1 stack is cut. A longer --wait helps threads that only "
            "waited for a CPU.");
}

TEST(Summary, AThreadThatExitedIsNotMissing) {
  ProcessDump dump = testing::sample_dump();
  dump.diagnoses.clear();
  dump.threads[3].capture_error.code = ErrorCode::no_such_thread;
  EXPECT_FALSE(is_partial(summarize(dump)));
}

TEST(Summary, ARuntimeThatCannotBeWalkedMakesTheResultPartial) {
  ProcessDump dump = testing::sample_dump();
  dump.diagnoses.clear();
  dump.threads.resize(1);
  EXPECT_FALSE(is_partial(summarize(dump)));
  dump.runtimes[0].walkable = false;
  EXPECT_TRUE(is_partial(summarize(dump)));
}

TEST(Summary, AListThatCouldNotBeReadMakesTheResultPartial) {
  ProcessDump dump = testing::sample_dump();
  dump.threads.resize(1);
  dump.diagnoses = {{{ErrorCode::unreadable_memory, 0, 16}, "thread list", {}}};
  EXPECT_TRUE(is_partial(summarize(dump)));
}

}  // namespace
}  // namespace mixstack::report
