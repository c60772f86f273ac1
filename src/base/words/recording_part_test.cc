#include "base/words/recording_part.h"

#include <gtest/gtest.h>

#include <map>

#include "support/sample_recording.h"

namespace mixstack {
namespace {

/// "start;App.Main(string[]) 4711 running" -> periods
std::map<std::string, std::uint64_t> counts(const Recording& recording) {
  std::map<std::string, std::uint64_t> counts;
  for (const Sample& sample : recording.samples()) {
    const SampleContext& context = recording.contexts()[sample.context];
    const RecordedThread& thread = recording.threads()[context.thread];
    std::string key = std::to_string(recording.processes()[thread.process].pid) + " " + std::to_string(thread.tid) +
                      " " + std::string(word_of(context.clock)) + " " + std::string(word_of(context.activity));
    for (const std::uint32_t frame : recording.frames_of(sample.stack))
      key += ";" + shown_name(recording, recording.frames()[frame].function);
    counts[key] += sample.count;
  }
  return counts;
}

TEST(RecordingPart, AllSamplesMakeTheSame) {
  const Recording whole = testing::sample_recording();
  const Recording part = part_of(whole, whole.samples());
  EXPECT_EQ(counts(part), counts(whole));
  EXPECT_EQ(part.facts.account.samples, 212u);
  EXPECT_EQ(part.facts.account.lost_in_queue, 0u);
  EXPECT_EQ(part.facts.cpu_hertz, whole.facts.cpu_hertz);
  EXPECT_EQ(part.modules().size(), whole.modules().size());
  EXPECT_EQ(part.files(), whole.files());
}

TEST(RecordingPart, HoldsOnlyWhatItsSamplesNeed) {
  const Recording whole = testing::sample_recording();
  const Recording part = part_of(whole, std::span(whole.samples()).subspan(2, 1));  // start;Main;memcpy of the worker
  EXPECT_EQ(part.facts.account.samples, 10u);
  EXPECT_EQ(part.threads().size(), 1u);
  EXPECT_EQ(part.threads()[0].tid, 4712u);
  EXPECT_EQ(part.functions().size(), 3u);
  EXPECT_EQ(part.nodes().size(), 4u);
  EXPECT_EQ(part.contexts().size(), 1u);
}

TEST(RecordingPart, NumbersOfAnotherRecordingAreLeftOut) {
  const Recording whole = testing::sample_recording();
  const Sample foreign[] = {{.stack = 1000, .context = 0}, {.stack = 0, .context = 1000}};
  EXPECT_TRUE(part_of(whole, foreign).samples().empty());
}

TEST(RecordingPart, EveryPeriodIsFreshOnce) {
  Recording recording = testing::sample_recording();
  EXPECT_TRUE(recording.take_fresh().empty()) << "nobody wanted them";
  recording.keep_fresh();
  std::map<std::string, std::uint64_t> sent;
  const auto take = [&] {
    for (const auto& [key, count] : counts(part_of(recording, recording.take_fresh()))) sent[key] += count;
  };
  const auto before = counts(recording);
  ASSERT_TRUE(recording.add({.time_ns = 5, .stack = 1, .context = 0, .count = 3}));
  take();
  recording.make_coarser(1'000'000'000);
  ASSERT_TRUE(recording.add({.time_ns = 1'500'000'000, .stack = 1, .context = 0, .count = 4}));
  ASSERT_TRUE(recording.add({.time_ns = 1'600'000'000, .stack = 2, .context = 1, .count = 5}));
  take();
  take();
  auto all = before;
  for (const auto& [key, count] : sent) all[key] += count;
  EXPECT_EQ(all, counts(recording));
}

TEST(RecordingPart, FreshSamplesDoNotGrowWithoutEnd) {
  Recording recording = testing::sample_recording();
  recording.keep_fresh();
  const std::size_t times = 2 * Recording::kMostSamples;
  for (std::size_t i = 0; i < times; i++)
    ASSERT_TRUE(recording.add({.time_ns = i, .stack = static_cast<std::uint32_t>(1 + i % 3), .context = 0}));
  const auto fresh = recording.take_fresh();
  EXPECT_LT(fresh.size(), Recording::kMostSamples);
  std::uint64_t sum = 0;
  for (const Sample& sample : fresh) sum += sample.count;
  EXPECT_EQ(sum, times);
}

}  // namespace
}  // namespace mixstack
