#include "mixstack/recording.h"

#include <gtest/gtest.h>

#include "support/sample_recording.h"

namespace mixstack {
namespace {

/// One thread of one process, and functions f0, f1 ….
struct Small {
  Recording recording;
  std::uint32_t context = 0;
  std::vector<std::uint32_t> frames;

  explicit Small(std::size_t functions = 3) {
    const auto process = recording.process({.pid = 7});
    const auto thread = recording.add_thread({.process = *process, .tid = 7});
    context = *recording.context({.thread = *thread});
    for (std::size_t i = 0; i < functions; i++) {
      const auto function = recording.function({.name = "f" + std::to_string(i)});
      frames.push_back(*recording.frame({.function = *function, .address = i}));
    }
  }
  std::uint32_t stack(std::initializer_list<std::size_t> outermost_first) {
    std::uint32_t node = 0;
    for (const std::size_t f : outermost_first) node = *recording.node({node, frames[f]});
    return node;
  }
};

TEST(Recording, EqualThingsHaveOneNumber) {
  Small small;
  EXPECT_EQ(small.stack({0, 1, 2}), small.stack({0, 1, 2}));
  EXPECT_NE(small.stack({0, 1, 2}), small.stack({0, 2, 1}));
  EXPECT_EQ(small.recording.nodes().size(), 6u);  // with the empty stack
  EXPECT_EQ(small.recording.frames_of(small.stack({0, 1, 2})),
            (std::vector<std::uint32_t>{small.frames[2], small.frames[1], small.frames[0]}));
}

TEST(Recording, RefusesIndicesThatAreNotItsOwn) {
  Small small;
  EXPECT_FALSE(small.recording.node({99, 0}));
  EXPECT_FALSE(small.recording.node({0, 99}));
  EXPECT_FALSE(small.recording.frame({.function = 99}));
  EXPECT_FALSE(small.recording.frame({.function = 0, .file = 5}));
  EXPECT_FALSE(small.recording.context({.thread = 99}));
  EXPECT_FALSE(small.recording.function({.name = "x", .module = 3}));
  EXPECT_FALSE(small.recording.add({.stack = 99, .context = 0}));
  EXPECT_FALSE(small.recording.add({.stack = 0, .context = 99}));
  EXPECT_FALSE(small.recording.add({.stack = 0, .context = 0, .count = 0}));
}

TEST(Recording, ManySamplesOfFewStacksStayFew) {
  Small small;
  const std::uint32_t a = small.stack({0, 1}), b = small.stack({0, 2});
  constexpr std::uint64_t kSamples = 3 * Recording::kMostSamples;
  for (std::uint64_t i = 0; i < kSamples; i++)
    ASSERT_TRUE(small.recording.add({.time_ns = i * 1'000'000, .stack = i % 3 == 0 ? a : b, .context = small.context}));
  EXPECT_LE(small.recording.samples().size(), Recording::kMostSamples);
  std::uint64_t of_a = 0, all = 0;
  for (const Sample& s : small.recording.samples()) {
    all += s.count;
    if (s.stack == a) of_a += s.count;
    EXPECT_EQ(s.time_ns % small.recording.slice_ns(), 0u);
  }
  EXPECT_EQ(all, kSamples);
  EXPECT_EQ(of_a, kSamples / 3);
}

TEST(Recording, AsManyStacksAsSamplesEndAtALimit) {
  Small small(2);
  std::uint32_t node = 0;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < 5 * Recording::kMostSamples; i++) {
    if (i % 1000 == 0) node = 0;
    if (const auto next = small.recording.node({node, small.frames[i % 2]})) node = *next;
    taken += small.recording.add({.time_ns = i << 20, .stack = node, .context = small.context}) ? 1 : 0;
  }
  EXPECT_LE(small.recording.samples().size(), 4 * Recording::kMostSamples);
  EXPECT_GT(taken, 0u);
}

TEST(Recording, ForgottenSamplesMakeRoomForExactOnes) {
  Recording recording;
  (void)recording.process({.pid = 1});
  (void)recording.add_thread({.tid = 1});
  const auto node = recording.node({0, *recording.frame({.function = *recording.function({.name = "f"})})});
  const auto context = recording.context({});
  ASSERT_TRUE(recording.add({.time_ns = 1001, .stack = *node, .context = *context, .count = 2}));
  recording.make_coarser(1000);
  EXPECT_EQ(recording.samples()[0].time_ns, 1000u);
  recording.forget_samples();
  EXPECT_TRUE(recording.samples().empty());
  EXPECT_EQ(recording.slice_ns(), 1u);
  ASSERT_TRUE(recording.add({.time_ns = 2003, .stack = *node, .context = *context, .count = 1}));
  EXPECT_EQ(recording.samples()[0].time_ns, 2003u);
  EXPECT_EQ(recording.nodes().size(), 2u) << "stacks stay";
}

TEST(Recording, FunctionsByTheirOwnTime) {
  using Times = std::pair<std::uint64_t, std::uint64_t>;
  const Recording recording = testing::SampleRecording().recording;
  const auto time_of = [](const std::vector<FunctionTime>& times, std::string_view name) {
    for (const FunctionTime& time : times)
      if (time.name == name) return Times(time.self_ns, time.total_ns);
    return Times(0, 0);
  };
  const auto running = function_times(recording, false), all = function_times(recording, true);
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 1; i < all.size(); i++) EXPECT_GE(all[i - 1].self_ns, all[i].self_ns);
  // Processor time is shown where both clocks have samples, unless waiting is to be: 7 samples of 1 ms.
  EXPECT_EQ(time_of(running, "App.Work()"), Times(7'000'000u, 7'000'000u));
  EXPECT_EQ(time_of(running, "futex;wait").second, 0u);
  EXPECT_EQ(time_of(all, "futex;wait"), Times(500'000'000u, 500'000'000u));
  EXPECT_TRUE(function_times(Recording(), true).empty());
}

TEST(Recording, UnnamedCodeOfAModuleIsOneFunction) {
  Recording recording;
  const auto module = recording.module({.name = "libcoreclr.so"});
  const auto function = recording.function({.module = *module, .kind = CodeKind::runtime});
  EXPECT_EQ(shown_name(recording, *function), "[libcoreclr.so]");
  const auto named = recording.function({.name = "named", .module = *module});
  std::vector<std::uint32_t> nodes{0};
  for (const std::uint32_t f : {*function, *function, *named, *named, *function})
    nodes.push_back(*recording.node({nodes.back(), *recording.frame({.function = f, .address = nodes.size()})}));
  std::vector<bool> repeats;
  for (const std::uint32_t node : nodes) repeats.push_back(repeats_unnamed(recording, node));
  EXPECT_EQ(repeats, (std::vector<bool>{false, false, true, false, false, false}));
  EXPECT_EQ(shown_name(recording, *recording.function({.kind = CodeKind::unknown})), "[unknown]");
}

}  // namespace
}  // namespace mixstack
