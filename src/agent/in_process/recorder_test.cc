#include "agent/in_process/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace mixstack::agent {
namespace {

constexpr std::uint32_t kTid = 7;

ProfileFrame name(Address lookup, std::uint64_t) { return {FrameKind::native, "f" + std::to_string(lookup), {}}; }

/// A stack of so many frames; ring slots are large.
std::unique_ptr<Sample> waiting(std::uint32_t frames, SampleState state = SampleState::waiting) {
  auto sample = std::make_unique<Sample>();
  sample->tid = kTid;
  sample->state = state;
  sample->count = frames;
  for (std::size_t i = 0; i < std::min<std::size_t>(frames, Sample::kMostFrames); i++) {
    sample->addresses[i] = 1000 + i;
    sample->methods[i] = 0;
  }
  return sample;
}

std::vector<std::uint64_t> weights(const Profile& profile) {
  std::vector<std::uint64_t> all;
  for (const auto& [stack, weight] : profile.stacks()) all.push_back(weight);
  return all;
}

TEST(Recorder, WhatIsSeenAgainCountsForTheStackItWasSeenWith) {
  Recorder recorder(name, true);
  EXPECT_FALSE(recorder.repeat(kTid)) << "never sampled";
  recorder.add(*waiting(2));
  for (int i = 0; i < 3; i++) EXPECT_TRUE(recorder.repeat(kTid));
  recorder.add(*waiting(3));
  EXPECT_TRUE(recorder.repeat(kTid));
  EXPECT_EQ(recorder.account().samples, 6u);
  EXPECT_EQ(weights(recorder.take()), (std::vector<std::uint64_t>{4, 2}));
}

TEST(Recorder, OneThatRanIsNotRepeated) {
  Recorder recorder(name, true);
  recorder.add(*waiting(2));
  EXPECT_TRUE(recorder.repeat(kTid));
  recorder.add(*waiting(2, SampleState::running));
  EXPECT_FALSE(recorder.repeat(kTid));
  EXPECT_EQ(weights(recorder.take()), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Recorder, ADeepStackIsReadWhereItLies) {
  const auto deep = std::make_unique<DeepStack>();
  const auto sample = waiting(1000);
  for (std::size_t i = 0; i < 1000; i++) deep->addresses[i] = 5000 + i % 2;
  sample->deep = deep.get();
  Recorder recorder(name, true);
  recorder.add(*sample);
  const Profile profile = recorder.take();
  ASSERT_EQ(profile.stacks().size(), 1u);
  const Profile::Stack& stack = profile.stacks().begin()->first;
  ASSERT_EQ(stack.frames.size(), 1000u);
  EXPECT_EQ(profile.frames()[stack.frames[999]].name, "f5000") << "before the return address";
}

}  // namespace
}  // namespace mixstack::agent
