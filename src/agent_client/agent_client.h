// What the command does with the agent in a process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "agent_client/target_place.h"
#include "agent_link/protocol.h"
#include "model/profile.h"

namespace mixstack::agent_client {

/// A connection to the agent in a process. Every wait has an end.
class AgentClient {
 public:
  static constexpr std::chrono::milliseconds kAnswerTime{10'000};

  /// Errors: not_found (no agent in there), limit_exceeded (it does not take us in time), permission_denied.
  [[nodiscard]] static Outcome<AgentClient> connect(const TargetPlace& place);

  [[nodiscard]] Outcome<agent_link::Report> status() { return ask(agent_link::Kind::status, {}); }
  [[nodiscard]] Outcome<agent_link::Report> start(std::string_view settings) {
    return ask(agent_link::Kind::start, settings);
  }
  [[nodiscard]] Outcome<agent_link::Report> stop() { return ask(agent_link::Kind::stop, {}); }

  struct Recording {
    Profile profile;
    bool is_whole = false;  ///< it ended when it should, and the agent has said its last word
    std::string why;        ///< where not: why it ended
  };
  /// Samples for a time, or until `is_enough` says so (asked some times a second). Errors: as of the others; what was
  /// recorded before an error is kept.
  [[nodiscard]] Outcome<Recording> record(std::string_view settings, std::chrono::milliseconds time,
                                          const std::function<bool()>& is_enough);

 private:
  AgentClient(std::uint32_t pid, base::ScopedFd link) : pid_(pid), link_(std::move(link)) {}
  [[nodiscard]] Outcome<agent_link::Report> ask(agent_link::Kind kind, std::string_view text);
  [[nodiscard]] Outcome<agent_link::Report> report_of(const agent_link::Message& answer) const;
  [[nodiscard]] tl::unexpected<Diagnosis> failed(const Error& error) const;

  std::uint32_t pid_;
  base::ScopedFd link_;
};

/// Where the agent is, connects; where it is not, has it loaded with these settings first. `is_new` says which.
struct Attached {
  AgentClient client;
  bool is_new = false;
};
[[nodiscard]] Outcome<Attached> connect_or_attach(const TargetPlace& place, const std::string& library,
                                                  std::string_view settings, std::chrono::milliseconds timeout);

}  // namespace mixstack::agent_client
