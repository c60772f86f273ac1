// What an agent sends while it is recorded, made into a profile.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "agent_link/protocol.h"
#include "model/profile.h"

namespace mixstack::agent_client {

/// Takes messages as they come. Nothing that is in them is believed: numbers that were not announced are no frames, and
/// what does not fit is counted as lost on its way.
class Recorded {
 public:
  /// False: the message is none that belongs here, or is damaged.
  [[nodiscard]] bool take(agent_link::Kind kind, std::span<const std::byte> payload);
  /// Facts of the agent's last report; the profile is then complete.
  [[nodiscard]] Profile finish(const agent_link::Report& report);
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  void add(const agent_link::Sample& sample);

  static constexpr std::size_t kMostThreads = 1u << 16;
  Profile profile_;
  std::unordered_map<std::uint32_t, std::uint32_t> frames_;  ///< by the agent's number
  std::uint64_t samples_ = 0, cut_ = 0, lost_ = 0;
};

}  // namespace mixstack::agent_client
