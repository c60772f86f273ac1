// Processes that a list could not look into, in words.
#pragma once

#include <string>

#include "mixstack/machine.h"

namespace mixstack::machine {

/// For users other than root only a count: these are other users' processes. For root each is unexpected, so named.
[[nodiscard]] std::string not_readable_text(const RunningPrograms& found);

}  // namespace mixstack::machine
