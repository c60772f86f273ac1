// The command's requests to the agent in a process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "agent/client/target_place.h"
#include "agent/protocol/protocol.h"
#include "base/words/profile.h"

namespace mixstack::agent_client {

/// A connection to the agent in a process. Every wait times out.
class AgentClient {
 public:
  static constexpr std::chrono::milliseconds kAnswerTime{10'000};

  /// Errors: not_found (no agent), limit_exceeded (it does not accept in time), permission_denied.
  [[nodiscard]] static Outcome<AgentClient> connect(const TargetPlace& place);

  [[nodiscard]] Outcome<agent_link::Report> status() { return ask(agent_link::Kind::status, {}); }
  [[nodiscard]] Outcome<agent_link::Report> start(std::string_view settings) {
    return ask(agent_link::Kind::start, settings);
  }
  [[nodiscard]] Outcome<agent_link::Report> stop() { return ask(agent_link::Kind::stop, {}); }

  struct Recording {
    Profile profile;
    bool is_whole = false;  ///< it ended when asked to, with the agent's last report
    std::string why;        ///< why it ended early; empty if whole
  };
  /// Samples for `time`, or until `is_enough` (polled some times a second). Errors: those of `start`. If the agent
  /// fails later, the samples so far are returned, and `why`.
  [[nodiscard]] Outcome<Recording> record(std::string_view settings, std::chrono::milliseconds time,
                                          const std::function<bool()>& is_enough);

 private:
  AgentClient(std::uint32_t pid, base::ScopedFd link) : pid_(pid), link_(std::move(link)) {}
  [[nodiscard]] Outcome<agent_link::Report> ask(agent_link::Kind kind, std::string_view text);
  [[nodiscard]] Outcome<agent_link::Report> report_of(const agent_link::Message& answer) const;
  [[nodiscard]] tl::unexpected<Failure> failed(const Error& error) const;

  std::uint32_t pid_;
  base::ScopedFd link_;
};

/// Connects to the agent; if there is none, attaches it with these settings first, and `is_new` is true.
struct Attached {
  AgentClient client;
  bool is_new = false;
};
[[nodiscard]] Outcome<Attached> connect_or_attach(const TargetPlace& place, const std::string& library,
                                                  std::string_view settings, std::chrono::milliseconds timeout);

}  // namespace mixstack::agent_client
