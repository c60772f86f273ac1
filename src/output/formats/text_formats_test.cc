// Folded stacks and the text: what people and scripts read.
#include <gtest/gtest.h>

#include "output/formats/call_tree_text.h"
#include "output/formats/folded.h"
#include "output/formats/folded_reader.h"
#include "support/sample_recording.h"

namespace mixstack::formats {
namespace {

std::string folded(const Recording& recording, const ProfileOptions& options) {
  return report::collect([&](report::Writer& out) { write_folded(out, recording, options); });
}

TEST(Folded, StacksInOrderOfTheirNamesWithSamples) {
  const Recording recording = testing::sample_recording();
  EXPECT_EQ(folded(recording, {}), "start;App.Main(string[]);App.Work() 7\n");
  EXPECT_EQ(folded(recording, {.clock = SampleClock::wall}),
            "[cut: no_unwind_info];memcpy 50\n"
            "start;App.Main(string[]);App.Work() 60\n"
            "start;App.Main(string[]);App.Work();App.Helper() 30\n"
            "start;App.Main(string[]);App.Work();sys_read 5\n"
            "start;App.Main(string[]);memcpy 10\n");
  EXPECT_EQ(folded(recording, {.activities = activity_bit(Activity::waiting)}), "start;futex:wait 50\n");
  EXPECT_EQ(folded(Recording(), {}), "");
}

TEST(Folded, WhatWasWrittenIsReadAgain) {
  const std::string text = folded(testing::sample_recording(), {.clock = SampleClock::wall, .idle = true});
  const auto read = read_folded(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(folded(*read, {}), text);
}

TEST(FoldedReader, LinesOfOtherProfilers) {
  const auto read = read_folded("# comment\n\na;b_[k] 3\r\na;c d_[j] 12.5\na;e_[i]\t4\nno stack here\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(folded(*read, {}), "a;b 3\na;c d 12\na;e 4\n");
  const RecordingView view = view_of(*read, {});
  EXPECT_EQ(view.entries[1].kind, CodeKind::kernel);
  EXPECT_EQ(view.entries[2].kind, CodeKind::managed);
  EXPECT_EQ(view.entries[0].kind, CodeKind::unknown);
  EXPECT_EQ(read->facts.notes.at(1), "1 line was no stack");
}

TEST(FoldedReader, NanosecondsBecomeSmallerUnits) {
  const auto read = read_folded("a 5000000000000\nb 1000000000\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(folded(*read, {}), "a 500000000\nb 100000\n");
  // Lines of one stack become one, whose count has to fit as well.
  const auto sum = read_folded("a 4000000000\na 4000000000\n");
  ASSERT_TRUE(sum);
  EXPECT_EQ(folded(*sum, {}), "a 800000000\n");
  EXPECT_EQ(sum->facts.notes.at(1), "counts were divided by 10: together they are more than 32 bits hold");
  const auto small = read_folded("a 5000000000000\nb 9999\nc 0\n");
  ASSERT_TRUE(small);
  EXPECT_EQ(
      small->facts.notes.at(1),
      "counts were divided by 10000: together they are more than 32 bits hold; left out as less than that: 1 line");
  EXPECT_TRUE(small->facts.notes.at(1).starts_with(kCountsDivided));
  EXPECT_EQ(read_folded("a 4294967295\n")->facts.notes.size(), 1u);
}

TEST(FoldedReader, StacksAreCalledAsTheirFile) {
  const auto named = read_folded("a 1\n", "app\x1b.folded");
  ASSERT_TRUE(named);
  EXPECT_EQ(shown_processes(*named), "app\\x1b.folded");
  EXPECT_EQ(shown_processes(*read_folded("a 1\n")), "stacks");
}

TEST(FoldedReader, NamesOfBlanksStayFrames) {
  const auto read = read_folded(" _[k] 3\na; ;b 2\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(folded(*read, {}), "[unknown] 3\na;[unknown];b 2\n");
}

TEST(FoldedReader, WhatIsNoneIsRefused) {
  EXPECT_EQ(read_folded("").error().code, ErrorCode::malformed);
  EXPECT_EQ(read_folded("{\"json\": true}\n").error().code, ErrorCode::malformed);
  EXPECT_EQ(read_folded("<html>\n<script>\n// number + 1\n</script>\n").error().code, ErrorCode::malformed);
  std::string deep;
  for (std::size_t i = 0; i <= Recording::kMostBelow + 1; i++) deep += "f;";
  EXPECT_TRUE(read_folded(deep + " 1\n")) << "cut in the middle, with a note";
}

TEST(CallTreeText, AccountFunctionsAndTree) {
  const std::string text = report::collect(
      [](report::Writer& out) { write_text_tree(out, testing::sample_recording(), {.clock = SampleClock::wall}); });
  for (const char* part :
       {"# 155 samples of wall time, 1.55 s in all; recorded for 2.00 s\n",
        "# not shown: 50 samples of waiting threads (--idle)\n", "# lost: 10 samples\n",
        "# cut: 50 stacks whose end was not reached\n", "# a <note> with \"marks\"\n",
        "  38.7%   61.3%  managed  App.Work()\n", "  67.7%    0.0%  start\n", "  19.4%   19.4%        App.Helper()\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(CallTreeText, WaitingForAProcessorIsToldFromRunning) {
  Recording recording;
  const auto thread = recording.add_thread({.process = *recording.process({.pid = 1})});
  const auto frame = recording.frame({.function = *recording.function({.name = "work"})});
  const auto stack = recording.node({0, *frame});
  const auto text = [&] { return report::collect([&](report::Writer& out) { write_text_tree(out, recording, {}); }); };
  const auto add = [&](Activity activity, std::uint32_t count) {
    const auto context = recording.context({.thread = *thread, .activity = activity});
    EXPECT_TRUE(recording.add({.stack = *stack, .context = *context, .count = count}));
  };
  add(Activity::running, 1);
  EXPECT_TRUE(text().starts_with("# 1 sample of wall time\n") || text().starts_with("# 1 sample\n")) << text();
  EXPECT_EQ(text().find("waited for a processor"), std::string::npos);
  add(Activity::runnable, 3);
  EXPECT_NE(text().find("# of these 75.0% waited for a processor"), std::string::npos) << text();
}

TEST(CallTreeText, FunctionsAddUpToTheSameFromBothEnds) {
  const auto functions = [](bool inverted) {
    const std::string text = report::collect([inverted](report::Writer& out) {
      write_text_tree(out, testing::sample_recording(), {.clock = SampleClock::wall, .inverted = inverted});
    });
    const std::size_t begin = text.find("   self   total");
    return text.substr(begin, text.find("\n\n", begin) - begin);
  };
  EXPECT_NE(functions(false).find("  38.7%   61.3%  managed  App.Work()\n"), std::string::npos) << functions(false);
  EXPECT_EQ(functions(true), functions(false));
  const std::string text = report::collect([](report::Writer& out) {
    write_text_tree(out, testing::sample_recording(), {.clock = SampleClock::wall, .inverted = true});
  });
  EXPECT_NE(text.find("innermost first\n  38.7%  App.Work()\n  38.7%    App.Main(string[])\n"), std::string::npos)
      << text;
}

TEST(CallTreeText, WhatIsSmallIsLeftOut) {
  Recording recording;
  const auto process = recording.process({.pid = 1});
  (void)recording.add_thread({.process = *process});
  const auto context = recording.context({});
  for (const auto& [name, count] : {std::pair{"much", 996u}, {"little", 4u}}) {
    const auto frame = recording.frame({.function = *recording.function({.name = name})});
    ASSERT_TRUE(recording.add({.stack = *recording.node({0, *frame}), .context = *context, .count = count}));
  }
  const std::string text = report::collect([&](report::Writer& out) { write_text_tree(out, recording, {}); });
  const std::string tree = text.substr(text.find("outermost first"));
  EXPECT_NE(tree.find("much"), std::string::npos);
  EXPECT_EQ(tree.find("little"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::formats
