// Chooses the libmixstack_agent.so that a process is asked to load.
#pragma once

#include <string>

#include "agent/client/target_place.h"

namespace mixstack::agent_client {

/// The path, as the process sees it, of the library at `chosen` or, if that is empty, of the one beside the command or
/// in its ../lib. Only root and the process's user may be able to write there: the process will run its code. Errors:
/// not_found, permission_denied (others could have written it, or the process may not read it), each with a remedy.
[[nodiscard]] Outcome<std::string> library_for(const TargetPlace& place, const std::string& chosen);

}  // namespace mixstack::agent_client
