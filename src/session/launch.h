// Starting a program.
#pragma once

#include <cstdint>

#include <optional>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack::session {

/// The user whose program it is to be, where we are root.
struct LaunchUser {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups{};
  std::string name{}, home{};  ///< for its environment; empty: as ours
};

/// Answers the pid of our new child. It has its own program image when this returns. Errors: io_error (os_error says
/// why it could not be started), invalid_argument (no arguments).
[[nodiscard]] Result<std::uint32_t> launch(const LaunchOptions& options,
                                           const std::optional<LaunchUser>& user = std::nullopt);

}  // namespace mixstack::session
