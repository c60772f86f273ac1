// Starting a program.
#pragma once

#include <cstdint>

#include <optional>
#include <string>

#include "base/system/asking_user.h"
#include "mixstack/session.h"

namespace mixstack::session {

/// Answers the pid of our new child. `user`: whose program it is to be, where we are root. It has its own program image
/// when this returns. Errors: io_error (os_error says why it could not be started), invalid_argument (no arguments).
[[nodiscard]] Result<std::uint32_t> launch(const LaunchOptions& options,
                                           const std::optional<base::User>& user = std::nullopt);

}  // namespace mixstack::session
