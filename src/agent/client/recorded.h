// Builds a profile from the messages of an agent.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "agent/protocol/protocol.h"
#include "base/words/profile.h"

namespace mixstack::agent_client {

/// Takes messages as they come. They are untrusted: a sample with a frame number that was not announced, or beyond the
/// profile's bounds, is counted as lost on its way.
class Recorded {
 public:
  /// False: a message of another kind, or damaged.
  [[nodiscard]] bool take(agent_link::Kind kind, std::span<const std::byte> payload);
  /// Adds the facts of the agent's last report, and hands over the profile.
  [[nodiscard]] Profile finish(const agent_link::Report& report);
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  void add(const agent_link::Sample& sample);

  static constexpr std::size_t kMostThreads = 1u << 16;
  static constexpr std::size_t kMostNumbers = 1u << 20;  ///< several may stand for one frame of the profile
  Profile profile_;
  std::unordered_map<std::uint32_t, std::uint32_t> frames_;  ///< by the agent's number
  std::uint64_t samples_ = 0, cut_ = 0, lost_ = 0;
};

}  // namespace mixstack::agent_client
