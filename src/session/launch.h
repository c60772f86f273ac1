// Starting a program.
#pragma once

#include <cstdint>

#include "mixstack/session.h"

namespace mixstack::session {

/// Answers the pid of our new child. It has its own program image when this returns. Errors: io_error (os_error says
/// why it could not be started), invalid_argument (no arguments).
[[nodiscard]] Result<std::uint32_t> launch(const LaunchOptions& options);

}  // namespace mixstack::session
