#include "base/words/recording_view.h"

#include <gtest/gtest.h>

#include <map>

namespace mixstack {
namespace {

using Shown = std::map<std::string, std::uint64_t>;

/// Two threads; a stack is written as it is shown: "main;Work;read".
class Taken {
 public:
  Taken() {
    recording.facts.cpu_hertz = 1000;
    recording.facts.wall_hertz = 100;
    const auto process = recording.process({.pid = 7, .comm = "app"});
    threads[0] = *recording.add_thread({.process = *process, .tid = 7, .comm = "app"});
    threads[1] =
        *recording.add_thread({.process = *process, .tid = 8, .comm = ".NET TP Worker", .name = ".NET TP Worker"});
  }
  std::uint32_t frame(const std::string& name, Trust trust = Trust::certain) {
    const CodeKind kind = name.starts_with("sys_") ? CodeKind::kernel
                          : name.starts_with("M.") ? CodeKind::managed
                                                   : CodeKind::native;
    const auto function = recording.function({.name = name, .kind = kind});
    return *recording.frame({.function = *function, .trust = trust, .address = 0x10});
  }
  std::uint32_t stack(const std::string& text) {
    std::uint32_t node = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(';', begin), text.size());
      std::string name = text.substr(begin, end - begin);
      const bool doubtful = name.ends_with('?');
      if (doubtful) name.pop_back();
      node = *recording.node({node, frame(name, doubtful ? Trust::inferred : Trust::certain)});
      begin = end + 1;
    }
    return node;
  }
  void add(const std::string& text, SampleContext context = {}, std::uint32_t count = 1, std::uint64_t time_ns = 0) {
    const auto number = recording.context(context);
    ASSERT_TRUE(recording.add({time_ns, stack(text), *number, count}));
  }
  Recording recording;
  std::uint32_t threads[2] = {};
};

Shown shown(const Recording& recording, const ProfileOptions& options) {
  const RecordingView view = view_of(recording, options);
  Shown all;
  const auto self = view.self_counts();
  for (std::uint32_t n = 0; n < view.nodes.size(); n++) {
    if (self[n] == 0) continue;
    std::string text;
    for (std::uint32_t at = n; at != 0; at = view.nodes[at].parent)
      text = view.entries[view.nodes[at].entry].name + (text.empty() ? "" : ";" + text);
    all[text] += self[n];
  }
  return all;
}

TEST(RecordingView, WaitingThreadsAreLeftOutUnlessAskedFor) {
  Taken taken;
  taken.add("main;M.Run", {.activity = Activity::running}, 3);
  taken.add("main;M.Wait;futex", {.activity = Activity::waiting}, 5);
  EXPECT_EQ(shown(taken.recording, {}), (Shown{{"main;M.Run", 3}}));
  EXPECT_EQ(shown(taken.recording, {.idle = true}), (Shown{{"main;M.Run", 3}, {"main;M.Wait;futex", 5}}));
  EXPECT_EQ(shown(taken.recording, {.activities = activity_bit(Activity::waiting)}), (Shown{{"main;M.Wait;futex", 5}}));
  const RecordingView view = view_of(taken.recording, {});
  EXPECT_EQ(view.shown, 3u);
  EXPECT_EQ(view.left_out, 5u);
  EXPECT_EQ(view.idle_left_out, 5u);
  EXPECT_EQ(view.weight(3), 30'000'000u);
}

TEST(RecordingView, ClocksAreNotMixed) {
  Taken taken;
  taken.add("main;M.Run", {.clock = SampleClock::cpu, .activity = Activity::running}, 10);
  taken.add("main;M.Run", {.clock = SampleClock::wall, .activity = Activity::running}, 1);
  taken.add("main;read", {.clock = SampleClock::wall, .activity = Activity::waiting}, 2);
  EXPECT_EQ(shown(taken.recording, {}), (Shown{{"main;M.Run", 10}}));
  EXPECT_EQ(shown(taken.recording, {.idle = true}), (Shown{{"main;M.Run", 1}, {"main;read", 2}}));
  EXPECT_EQ(shown(taken.recording, {.clock = SampleClock::wall}), (Shown{{"main;M.Run", 1}}));
}

TEST(RecordingView, InGarbageCollections) {
  Taken taken;
  taken.add("main;M.Run", {.activity = Activity::running}, 3);
  taken.add("main;M.Run", {.activity = Activity::running, .gc_pending = true}, 2);
  EXPECT_EQ(shown(taken.recording, {.gc_only = true}), (Shown{{"main;M.Run", 2}}));
}

TEST(RecordingView, FramesOfOneKindAndStacksOfNone) {
  Taken taken;
  taken.add("main;M.Run;read;sys_read", {}, 1);
  taken.add("main;poll", {}, 2);
  taken.add("sys_work", {}, 4);
  taken.add("", {}, 8);
  EXPECT_EQ(shown(taken.recording, {.managed_only = true}),
            (Shown{{"M.Run", 1}, {"[no managed code]", 6}, {"[no stack]", 8}}));
  EXPECT_EQ(shown(taken.recording, {.kernel = false}),
            (Shown{{"main;M.Run;read", 1}, {"main;poll", 2}, {"[kernel]", 4}, {"[no stack]", 8}}));
}

TEST(RecordingView, PatternsDecideOverWholeStacks) {
  Taken taken;
  taken.add("main;M.Run;M.Parse", {}, 1);
  taken.add("main;M.Run;M.Write", {}, 2);
  taken.add("main", {}, 4);
  EXPECT_EQ(shown(taken.recording, {.include = {"Run"}}),
            (Shown{{"main;M.Run;M.Parse", 1}, {"main;M.Run;M.Write", 2}}));
  EXPECT_EQ(shown(taken.recording, {.include = {"Run"}, .exclude = {"M.P*"}}), (Shown{{"main;M.Run;M.Write", 2}}));
  EXPECT_EQ(shown(taken.recording, {.exclude = {"M.?arse"}}), (Shown{{"main;M.Run;M.Write", 2}, {"main", 4}}));
}

TEST(RecordingView, InvertedAndByThread) {
  Taken taken;
  taken.add("main;a;b", {.thread = taken.threads[0]}, 1);
  taken.add("main;c;b", {.thread = taken.threads[1]}, 2);
  EXPECT_EQ(shown(taken.recording, {.inverted = true}), (Shown{{"b;a;main", 1}, {"b;c;main", 2}}));
  EXPECT_EQ(shown(taken.recording, {.by_thread = true, .inverted = true}),
            (Shown{{"app [tid 7];b;a;main", 1}, {".NET TP Worker [tid 8];b;c;main", 2}}));
  const RecordingView view = view_of(taken.recording, {.inverted = true});
  EXPECT_EQ(view.total_counts()[0], 3u);
  EXPECT_EQ(view.total_counts()[1], 3u);  // b
}

TEST(RecordingView, CutAndDoubtfulStacksDoNotLookWhole) {
  Taken taken;
  taken.add("a;b", {.stop = StopReason::no_unwind_info}, 1);
  taken.add("x?;y?;z", {}, 2);
  EXPECT_EQ(shown(taken.recording, {}), (Shown{{"[cut: no_unwind_info];a;b", 1}, {"x;y;[callers in doubt];z", 2}}));
  EXPECT_EQ(shown(taken.recording, {.inverted = true}),
            (Shown{{"b;a;[cut: no_unwind_info]", 1}, {"z;[callers in doubt];y;x", 2}}));
}

TEST(RecordingView, SeveralProcessesEachHaveABox) {
  Taken taken;
  const auto other = taken.recording.process({.pid = 9, .comm = "other"});
  const auto thread = taken.recording.add_thread({.process = *other, .tid = 9});
  taken.add("main", {.thread = *thread}, 1);
  taken.add("main", {.thread = taken.threads[0]}, 2);
  EXPECT_EQ(shown(taken.recording, {}), (Shown{{"other (9);main", 1}, {"app (7);main", 2}}));
  EXPECT_EQ(shown_processes(taken.recording), "app (7), other (9)");
  for (const std::uint32_t pid : {10u, 11u, 12u}) ASSERT_TRUE(taken.recording.process({.pid = pid, .comm = "x"}));
  EXPECT_EQ(shown_processes(taken.recording), "app (7), other (9), x (10) and 2 more");
  EXPECT_EQ(shown_processes(Recording()), "");
}

TEST(RecordingView, StacksOfNoProcessHaveItsNameAlone) {
  Recording recording;
  ASSERT_TRUE(recording.add_thread({.process = *recording.process({.comm = "app.folded"})}));
  EXPECT_EQ(shown_process(recording, 0), "app.folded");
  EXPECT_EQ(shown_thread(recording, 0), "app.folded");
  Recording nameless;
  ASSERT_TRUE(nameless.add_thread({.process = *nameless.process({})}));
  EXPECT_EQ(shown_processes(nameless), "stacks");
  EXPECT_EQ(shown_thread(nameless, 0), "stacks");
}

TEST(RecordingView, TheRecorderHasAVersionWhereItIsKnown) {
  Recording recording;
  EXPECT_EQ(shown_recorder(recording), "mixstack");
  recording.facts.version = "1.2.3";
  EXPECT_EQ(shown_recorder(recording), "mixstack 1.2.3");
}

TEST(RecordingView, FramesMayBeToldApart) {
  Taken taken;
  const auto function = taken.recording.function({.name = "f"});
  const auto early = taken.recording.frame({.function = *function, .line = 1, .address = 1});
  const auto late = taken.recording.frame({.function = *function, .line = 9, .address = 9});
  const auto context = taken.recording.context({});
  for (const auto frame : {*early, *late})
    ASSERT_TRUE(taken.recording.add({9 - frame, *taken.recording.node({0, frame}), *context, 1}));
  EXPECT_EQ(view_of(taken.recording, {}).entries.size(), 1u);
  const RecordingView view = view_of(taken.recording, {}, ViewDetail::frames);
  ASSERT_EQ(view.entries.size(), 2u);
  EXPECT_EQ(view.entries[0].frame, *early);
  ASSERT_EQ(view.samples.size(), 2u);
  EXPECT_LT(view.samples[0].time_ns, view.samples[1].time_ns);
}

TEST(RecordingView, DeepRecursionInvertedEnds) {
  Taken taken;
  const std::uint32_t f = taken.frame("f");
  const auto context = taken.recording.context({});
  std::uint32_t node = 0;
  for (std::size_t i = 0; i + 1 < Recording::kMostBelow; i++) {
    node = *taken.recording.node({node, f});
    ASSERT_TRUE(taken.recording.add({i, node, *context, 1}));
  }
  const RecordingView view = view_of(taken.recording, {.inverted = true});
  EXPECT_EQ(view.shown, Recording::kMostBelow - 1);
  EXPECT_GT(view.too_many, 0u);
  EXPECT_EQ(view.total_counts()[0], view.shown);
}

}  // namespace
}  // namespace mixstack
