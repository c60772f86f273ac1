#include "base/words/recording_selection.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/sample_recording.h"

namespace mixstack {
namespace {

std::map<std::string, std::uint64_t> stacks_of(const Recording& recording) {
  std::map<std::string, std::uint64_t> all;
  for (const Sample& sample : recording.samples()) {
    std::string text;
    for (const std::uint32_t frame : recording.frames_of(sample.stack))
      text = shown_name(recording, recording.frames()[frame].function) + (text.empty() ? "" : ";" + text);
    all[text] += sample.count;
  }
  return all;
}

/// "main" of each process, once in the first, twice in the second.
Recording two_processes() {
  Recording recording;
  const auto frame = recording.frame({.function = *recording.function({.name = "main"})});
  for (const std::uint32_t pid : {7u, 8u}) {
    const auto process = recording.process({.pid = pid, .comm = "app"});
    const auto thread = recording.add_thread({.process = *process, .tid = pid, .comm = "t"});
    const auto context = recording.context({.thread = *thread, .activity = Activity::running});
    EXPECT_TRUE(recording.add({.stack = *recording.node({0, *frame}), .context = *context, .count = pid - 6}));
  }
  return recording;
}

TEST(RecordingSelection, ProcessesAndThreadsAreBoxesWhereTheyAreToldApart) {
  const Recording recording = two_processes();
  using Stacks = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(stacks_of(selection_of(recording, {})), (Stacks{{"app (7);main", 1}, {"app (8);main", 2}}));
  EXPECT_EQ(stacks_of(selection_of(recording, {.by_process = false})), (Stacks{{"main", 3}}));
  EXPECT_EQ(stacks_of(selection_of(recording, {.by_thread = true, .by_process = false})),
            (Stacks{{"t [tid 7];main", 1}, {"t [tid 8];main", 2}}));
  EXPECT_EQ(stacks_of(selection_of(testing::sample_recording(), {.clock = SampleClock::cpu})),
            (Stacks{{"start;App.Main(string[]);App.Work()", 7}}));
}

TEST(RecordingSelection, FunctionsAreReplaced) {
  const Recording changed = with_functions(two_processes(), [](std::uint32_t) {
    return FunctionAndModule{{.name = "other", .module = 99, .kind = CodeKind::managed}, {.name = "App"}};
  });
  ASSERT_EQ(changed.functions().size(), 1u);
  EXPECT_EQ(changed.functions()[0].name, "other");
  EXPECT_EQ(changed.functions()[0].kind, CodeKind::managed);
  EXPECT_EQ(changed.modules().at(changed.functions()[0].module).name, "App");
  EXPECT_EQ(stacks_of(changed), (std::map<std::string, std::uint64_t>{{"other", 3}}));
}

}  // namespace
}  // namespace mixstack
