#include "base/words/profile.h"

#include <algorithm>
#include <utility>

namespace mixstack {

std::string_view word_of(SampleState state) {
  switch (state) {
    case SampleState::cpu:
      return "cpu";
    case SampleState::running:
      return "running";
    case SampleState::waiting:
      return "waiting";
  }
  return "unknown";
}

void Profile::Stack::shorten(std::size_t most) {
  if (frames.size() <= most) return;
  const auto left_out = static_cast<std::uint32_t>(frames.size() - most);
  frames.resize(most);
  frames.shrink_to_fit();
  doubtful -= std::min(doubtful, left_out);
  stop = StopReason::max_frames;
}

std::optional<std::uint32_t> Profile::frame(const ProfileFrame& frame) {
  if (const auto at = numbers_.find(frame); at != numbers_.end()) return at->second;
  if (frames_.size() == kMostFrames) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(frame);
  numbers_.emplace(frame, number);
  return number;
}

bool Profile::add(Stack stack, std::uint64_t weight) {
  if (const auto at = stacks_.find(stack); at != stacks_.end()) {
    at->second += weight;
    return true;
  }
  if (stacks_.size() == kMostStacks || places_ + stack.frames.size() > kMostPlaces) return false;
  places_ += stack.frames.size();
  stacks_.emplace(std::move(stack), weight);
  return true;
}

}  // namespace mixstack
