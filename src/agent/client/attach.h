// Attaches the agent to a process, and has it sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "agent/client/agent_client.h"

namespace mixstack::agent_client {

struct AgentSettings {
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;
  std::uint32_t wall_threads = 0;  ///< 0: the agent's default
  bool native_only = false;        ///< no managed code in walks
  std::string out{};               ///< file that the process writes at its end; empty: none. Ours to make absolute
  bool json = false;               ///< format of `out`
};
/// In the agent's lines of NAME=VALUE.
[[nodiscard]] std::string settings_text(const AgentSettings& settings);

/// `place_of` a process that can answer. Errors: as there; unsupported (it is stopped), no_such_process (it has ended).
[[nodiscard]] Outcome<TargetPlace> answering_place_of(std::uint32_t pid);

/// Loads the agent, where it is not there, and has it sample, where a rate is wanted. `library`: empty: the one beside
/// the command. Errors: those of `connect_or_attach` and `AgentClient::start`; internal: it cannot sample.
[[nodiscard]] Outcome<agent_link::Report> attach(const TargetPlace& place, const std::string& library,
                                                 const AgentSettings& settings, std::chrono::milliseconds timeout);

/// Lines about a recording: rates other than those wanted, counts of samples. Each ends with a newline.
[[nodiscard]] std::string recording_text(const AgentClient::Recording& recording, const AgentSettings& wanted);

}  // namespace mixstack::agent_client
