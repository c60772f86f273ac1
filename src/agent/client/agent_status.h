// An agent's report, as text or JSON.
#pragma once

#include <cstdint>
#include <string>

#include "agent/protocol/protocol.h"

namespace mixstack::agent_client {

/// Some lines; the agent's words are escaped for terminals.
[[nodiscard]] std::string status_text(std::uint32_t pid, const agent_link::Report& report);
/// One JSON object on a line.
[[nodiscard]] std::string status_json(std::uint32_t pid, const agent_link::Report& report);

}  // namespace mixstack::agent_client
