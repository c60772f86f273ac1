#include "agent/client/recorded.h"

#include <gtest/gtest.h>

namespace mixstack::agent_client {
namespace {

using agent_link::Bytes;
using agent_link::Kind;

std::span<const std::byte> payload_of(const Bytes& message) {
  return std::span(message).subspan(agent_link::kHeaderSize);
}

TEST(Recorded, SamplesAreCountedByTheFramesThatWereAnnounced) {
  Recorded recorded;
  const auto main = agent_link::encode(agent_link::Frame{40, {FrameKind::managed, "Main", {}}});
  const auto leaf = agent_link::encode(agent_link::Frame{41, {FrameKind::native, "leaf", {}}});
  for (const Bytes& frame : {main, leaf}) EXPECT_TRUE(recorded.take(Kind::frame, payload_of(frame)));
  EXPECT_TRUE(recorded.take(Kind::thread, payload_of(agent_link::encode(agent_link::Thread{5, "worker"}))));
  Bytes samples;
  agent_link::append(samples, {5, 2, SampleState::cpu, StopReason::end_of_stack, {41, 40}});
  agent_link::append(samples, {5, 1, SampleState::cpu, StopReason::end_of_stack, {41, 40}});
  agent_link::append(samples, {5, 1, SampleState::cpu, StopReason::no_unwind_info, {41}});
  agent_link::append(samples, {5, 1, SampleState::cpu, StopReason::end_of_stack, {99}});
  EXPECT_TRUE(recorded.take(Kind::samples, samples));
  agent_link::Report last;
  last.account.samples = 1000;  // of which most were before us
  last.account.lost = 3;
  const Profile profile = recorded.finish(last);
  ASSERT_EQ(profile.stacks().size(), 2u);
  EXPECT_EQ(profile.stacks().begin()->second, 3u);
  EXPECT_EQ(profile.account.samples, 4u);
  EXPECT_EQ(profile.account.cut, 1u);
  EXPECT_EQ(profile.account.lost, 3u);
  EXPECT_EQ(profile.account.lost_on_way, 1u) << "a frame that nobody announced";
  EXPECT_EQ(profile.threads.at(5), "worker");
}

TEST(Recorded, WhatDoesNotBelongThereIsRefused) {
  Recorded recorded;
  EXPECT_FALSE(recorded.take(Kind::status, {}));
  EXPECT_FALSE(recorded.take(Kind::frame, {}));
  const Bytes half(7);
  EXPECT_FALSE(recorded.take(Kind::samples, half));
}

}  // namespace
}  // namespace mixstack::agent_client
