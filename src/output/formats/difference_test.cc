#include "output/formats/difference.h"

#include <gtest/gtest.h>

#include "base/words/recording_selection.h"
#include "output/formats/folded.h"
#include "output/formats/folded_reader.h"
#include "support/sample_recording.h"

namespace mixstack::formats {
namespace {

std::string written(void (*write)(report::Writer&, const Recording&, const Recording&, const ProfileOptions&),
                    std::string_view before, std::string_view after) {
  const auto a = read_folded(before), b = read_folded(after);
  EXPECT_TRUE(a && b);
  return report::collect([&](report::Writer& out) { write(out, *a, *b, {}); });
}

TEST(Difference, StacksOfBothWithCountsOfEach) {
  EXPECT_EQ(written(write_diff_folded, "main;a 60\nmain;b 40\n", "main;a 50\nmain;c 50\n"),
            "main;a 60 50\nmain;b 40 0\nmain;c 0 50\n");
}

TEST(Difference, CountsOfDifferentTotalsAreScaled) {
  EXPECT_EQ(written(write_diff_folded, "a 6\nb 4\n", "a 50\nb 50\n"), "a 60 50\nb 40 50\n");
}

TEST(Difference, FunctionsThatChangedMostComeFirst) {
  const std::string text = written(write_diff_text, "main;a 60\nmain;b 40\n", "main;a 20\nmain;c 80\n");
  const std::string self = text.substr(text.find("function itself"));
  EXPECT_NE(self.find("    0.0%    80.0%    +80.0  c\n   60.0%    20.0%    -40.0  a\n   40.0%     0.0%    -40.0  b\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("main\n"), std::string::npos);
}

TEST(Difference, FoldedStacksOfARecordingAreNoChange) {
  const Recording recording = testing::sample_recording();
  const ProfileOptions options{.clock = SampleClock::wall, .idle = true};
  const auto folded = read_folded(report::collect([&](report::Writer& out) { write_folded(out, recording, options); }));
  ASSERT_TRUE(folded);
  for (const bool folded_first : {true, false}) {
    ProfileOptions of_each = options;
    if (folded_first) of_each.clock = std::nullopt;  // folded stacks have no clock that could be chosen
    const std::string text = report::collect([&](report::Writer& out) {
      write_diff_text(out, folded_first ? *folded : recording, folded_first ? recording : *folded, of_each);
    });
    const std::string none = "  (none by 0.1 points or more)\n";
    EXPECT_NE(text.find(none), text.rfind(none)) << text;
  }
}

TEST(Difference, NamesAreFoundWithWhatOtherToolsAddToThem) {
  Recording recording;
  const auto thread = recording.add_thread({.process = *recording.process({.pid = 1})});
  const auto context = recording.context({.thread = *thread, .activity = Activity::running});
  const auto module = recording.module({.name = "App"});
  std::uint32_t node = 0;
  for (const char* name : {"a", "b", "c", "d", "M(int, string)"}) {
    const auto function = recording.function({.name = name, .module = *module, .kind = CodeKind::managed});
    node = *recording.node({node, *recording.frame({.function = *function})});
  }
  ASSERT_TRUE(recording.add({.stack = node, .context = *context, .count = 4}));
  const auto folded = read_folded("App!a;b (app.c:12);c+0x1f;libx.so`d:7;M(int, string) 9\n");
  const std::string lines =
      report::collect([&](report::Writer& out) { write_diff_folded(out, *folded, recording, {}); });
  EXPECT_EQ(lines, "a;b;c;d;M(int, string) 4 4\n");
}

TEST(Difference, TheClockThatBothHaveIsCompared) {
  const Recording both = testing::sample_recording();  // 7 of processor time, 155 of wall time that ran
  Recording wall = selection_of(both, {.clock = SampleClock::wall});
  const std::string text = report::collect([&](report::Writer& out) { write_diff_text(out, both, wall, {}); });
  EXPECT_EQ(text.find("processor time"), std::string::npos) << text;
  EXPECT_NE(text.find("(none by 0.1 points or more)"), std::string::npos) << text;
}

TEST(Difference, OtherProcessIdsAreNoChange) {
  const auto two = [](std::uint32_t pid) {
    Recording recording;
    for (const std::uint32_t one : {pid, pid + 1}) {
      const auto thread = recording.add_thread({.process = *recording.process({.pid = one, .comm = "app"})});
      const auto context = recording.context({.thread = *thread, .activity = Activity::running});
      const auto frame = recording.frame({.function = *recording.function({.name = "main"})});
      EXPECT_TRUE(recording.add({.stack = *recording.node({0, *frame}), .context = *context}));
    }
    return recording;
  };
  const auto lines = [&](const Recording& a, const Recording& b) {
    return report::collect([&](report::Writer& out) { write_diff_folded(out, a, b, {}); });
  };
  EXPECT_EQ(lines(two(10), two(20)), "main 2 2\n");
  EXPECT_EQ(lines(two(10), two(10)), "app (10);main 1 1\napp (11);main 1 1\n");
}

TEST(Difference, ModesThatDifferAreSaid) {
  const Recording wall = selection_of(testing::sample_recording(), {.clock = SampleClock::wall, .idle = true});
  const Recording cpu = selection_of(testing::sample_recording(), {.clock = SampleClock::cpu});
  const auto waits_in = [](const std::string& which) {
    return "different modes: the one " + which + " holds threads that wait";
  };
  EXPECT_NE(different_modes(wall, cpu).find(waits_in("before")), std::string::npos);
  EXPECT_NE(different_modes(cpu, wall).find(waits_in("after")), std::string::npos);
  const std::string text = report::collect([&](report::Writer& out) { write_diff_text(out, cpu, wall, {}); });
  EXPECT_NE(text.find("\n# " + different_modes(cpu, wall) + "\n"), std::string::npos) << text;
  // No warning for recordings of both clocks, of one mode, without samples, or of folded stacks.
  EXPECT_EQ(different_modes(testing::sample_recording(), testing::sample_recording()), "");
  EXPECT_EQ(different_modes(wall, wall), "");
  EXPECT_EQ(different_modes(cpu, cpu), "");
  EXPECT_EQ(different_modes(wall, Recording()), "");
  EXPECT_EQ(different_modes(wall, *read_folded("a 1\n")), "");
}

TEST(Difference, OfNothingIsSaid) {
  const auto some = read_folded("a 1\n");
  const std::string text = report::collect([&](report::Writer& out) { write_diff_text(out, *some, Recording(), {}); });
  EXPECT_NE(text.find("no samples to compare"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::formats
