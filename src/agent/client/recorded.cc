#include "agent/client/recorded.h"

#include <utility>

namespace mixstack::agent_client {

bool Recorded::take(agent_link::Kind kind, std::span<const std::byte> payload) {
  if (kind == agent_link::Kind::frame) {
    const auto frame = agent_link::decode_frame(payload);
    const auto number = frame ? profile_.frame(frame->frame) : std::nullopt;
    if (number && (frames_.size() < kMostNumbers || frames_.contains(frame->number)))
      frames_.insert_or_assign(frame->number, *number);
    return frame.has_value();
  }
  if (kind == agent_link::Kind::thread) {
    const auto thread = agent_link::decode_thread(payload);
    const bool has_room = thread && (profile_.threads.size() < kMostThreads || profile_.threads.contains(thread->tid));
    if (has_room) profile_.threads[thread->tid] = thread->name;
    return thread.has_value();
  }
  if (kind != agent_link::Kind::samples) return false;
  const auto samples = agent_link::decode_samples(payload);
  if (!samples) return false;
  for (const agent_link::Sample& sample : *samples) add(sample);
  return true;
}

void Recorded::add(const agent_link::Sample& sample) {
  const std::uint64_t samples = sample.state == SampleState::waiting ? sample.weight : 1;
  samples_ += samples;
  if (sample.stop != StopReason::end_of_stack) cut_ += samples;
  Profile::Stack stack{sample.tid, sample.state, sample.stop, {}, sample.doubtful};
  stack.frames.reserve(sample.frames.size());
  for (const std::uint32_t number : sample.frames) {
    const auto known = frames_.find(number);
    if (known == frames_.end()) {
      lost_ += samples;
      return;
    }
    stack.frames.push_back(known->second);
  }
  if (profile_.is_crowded()) stack.shorten(Profile::kFewFrames);
  if (!profile_.add(std::move(stack), sample.weight)) lost_ += samples;
}

/// `samples` and `cut` are counted here because the agent's own counts may begin before we connected.
Profile Recorded::finish(const agent_link::Report& report) {
  profile_.runtime = report.runtime;
  profile_.cpu_hertz = report.cpu_hertz;
  profile_.wall_hertz = report.wall_hertz;
  profile_.account = report.account;
  profile_.account.samples = samples_;
  profile_.account.cut = cut_;
  profile_.account.lost_on_way += lost_;
  return std::move(profile_);
}

}  // namespace mixstack::agent_client
