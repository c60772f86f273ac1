#include "output/report/recording_summary.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

TEST(RecordingSummary, TheSummarySaysInWordsWhyStacksWereCut) {
  Recording recording;
  const auto process = recording.process({.pid = 7});
  const auto thread = recording.add_thread({.process = *process, .tid = 7});
  const auto take = [&](StopReason stop, std::uint32_t count) {
    const auto context = recording.context({.thread = *thread, .activity = Activity::running, .stop = stop});
    ASSERT_TRUE(recording.add({.stack = 0, .context = *context, .count = count}));
  };
  take(StopReason::stack_truncated, 2);
  take(StopReason::no_unwind_info, 30);
  take(StopReason::end_of_stack, 500);
  const std::string text = summary_text(recording, false);
  EXPECT_NE(
      text.find("  stacks whose end was not reached: 30 (nothing describes how to continue from here), 2 (the copied "
                "part of the stack ends here); 'mixstack dump' may show more of them\n"),
      std::string::npos)
      << text;
}

TEST(RecordingSummary, OneRoundIsNoRounds) {
  Recording recording;
  recording.facts.account.samples = 1;
  recording.facts.account.skipped = 1;
  const std::string one = summary_text(recording, false);
  EXPECT_NE(one.find("1 sample of 0 threads"), std::string::npos) << one;
  EXPECT_NE(one.find("not taken: 1 round left out\n"), std::string::npos) << one;
  recording.facts.account.skipped = 2;
  EXPECT_NE(summary_text(recording, false).find("2 rounds left out"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::report
