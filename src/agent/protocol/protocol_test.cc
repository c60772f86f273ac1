#include "agent/protocol/protocol.h"

#include <gtest/gtest.h>

namespace mixstack::agent_link {
namespace {

std::span<const std::byte> payload_of(const Bytes& message) { return std::span(message).subspan(kHeaderSize); }

Report full_report() {
  Report r;
  r.agent = "0.1.0", r.runtime = "10.0.12", r.out = "/tmp/a b", r.remains = "a thread";
  r.is_sampling = true;
  r.cpu_hertz = 99, r.wall_hertz = 10;
  r.loaded_for = 1, r.sampling_for = 2, r.account = {3, 4, 5, 6, 7, 8};
  r.threads = 9, r.untimed = 10, r.foreign = 11, r.methods = 12, r.pieces = 13, r.freed = 14, r.refused = 15;
  r.images = 16, r.code_bytes = 17, r.ring_bytes = 18, r.cpu = 19;
  return r;
}

TEST(AgentProtocol, AReportComesBackAsItWas) {
  const Report sent = full_report();
  const Bytes bytes = encode(sent);
  const auto header = decode_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->kind, Kind::report);
  EXPECT_EQ(header->version, kVersion);
  EXPECT_EQ(header->size, bytes.size() - kHeaderSize);
  const auto got = decode_report(payload_of(bytes));
  ASSERT_TRUE(got);
  EXPECT_EQ(encode(*got), bytes);
  EXPECT_EQ(got->remains, "a thread");
  EXPECT_EQ(got->account.missed, 7u);
  EXPECT_EQ(got->cpu, 19u);
}

TEST(AgentProtocol, FramesThreadsSamplesAndRefusals) {
  const Frame frame{7, {FrameKind::managed, "A.B", "a.dll"}};
  const auto got_frame = decode_frame(payload_of(encode(frame)));
  ASSERT_TRUE(got_frame);
  EXPECT_EQ(got_frame->number, 7u);
  EXPECT_EQ(got_frame->frame, frame.frame);
  const auto thread = decode_thread(payload_of(encode(Thread{5, "worker"})));
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->name, "worker");
  const auto refusal = decode_refusal(payload_of(encode(Refusal{RefusalCode::other_version, "2.0", "no"})));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->agent, "2.0");
  Bytes two;
  append(two, {1, 2, SampleState::waiting, StopReason::no_unwind_info, {3, 4, 5}, 2});
  append(two, {6, 1, SampleState::cpu, StopReason::end_of_stack, {}, 0});
  const auto samples = decode_samples(two);
  ASSERT_TRUE(samples);
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ(samples->front().frames, (std::vector<std::uint32_t>{3, 4, 5}));
  EXPECT_EQ(samples->front().state, SampleState::waiting);
  EXPECT_EQ(samples->front().doubtful, 2u);
  EXPECT_EQ(samples->back().tid, 6u);
}

TEST(AgentProtocol, NoPartOfAMessageIsAMessage) {
  const Bytes report = encode(full_report()), frame = encode(Frame{7, {FrameKind::native, "a", "b"}});
  for (std::size_t size = 0; size + kHeaderSize < report.size(); size++)
    EXPECT_FALSE(decode_report(payload_of(report).first(size))) << size;
  for (std::size_t size = 0; size + kHeaderSize < frame.size(); size++)
    EXPECT_FALSE(decode_frame(payload_of(frame).first(size))) << size;
  Bytes longer = frame;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_frame(payload_of(longer)));
  for (std::size_t size = 0; size < kHeaderSize; size++) EXPECT_FALSE(decode_header(std::span(report).first(size)));
}

TEST(AgentProtocol, WhatIsOutOfBoundsIsRefused) {
  Bytes header = message(Kind::status);
  header[8] = header[9] = header[10] = std::byte{0xff};
  EXPECT_FALSE(decode_header(header)) << "a payload larger than the largest";
  Bytes samples;
  append(samples, {1, 1, SampleState::cpu, StopReason::end_of_stack, {1}, 0});
  samples[8] = std::byte{200};
  EXPECT_FALSE(decode_samples(samples)) << "a state that is none";
  EXPECT_FALSE(decode_frame(payload_of(encode(Frame{1, {FrameKind::native, "", "b"}})))) << "a frame without a name";
}

TEST(AgentProtocol, LongTextsAreCutAndDeepStacksSaySo) {
  const auto frame = decode_frame(payload_of(encode(Frame{1, {FrameKind::native, std::string(100'000, 'x'), {}}})));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->frame.name.size(), kMostText);
  Bytes deep;
  append(deep, {1, 1, SampleState::cpu, StopReason::end_of_stack, std::vector<std::uint32_t>(kMostFrames + 1), 2});
  const auto samples = decode_samples(deep);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->front().frames.size(), kMostFrames);
  EXPECT_EQ(samples->front().doubtful, 1u) << "one of two was left out";
  EXPECT_EQ(samples->front().stop, StopReason::max_frames);
  EXPECT_EQ(deep.size(), size_of(samples->front()));
  EXPECT_LE(deep.size(), kMostPayload) << "one that is as deep as can be fits a message";
}

/// Programs of other versions rely on these bytes: they never change.
TEST(AgentProtocol, HeaderAndRefusalAreOfEveryVersion) {
  const Bytes bytes = encode(Refusal{RefusalCode::other_version, "9", "x"});
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text, std::string("MXAG\x03\x00\x11\x00\x08\x00\x00\x00\x01\x00\x01\x00"
                              "9\x01\x00x",
                              20));
}

}  // namespace
}  // namespace mixstack::agent_link
