// The user who ran mixstack by sudo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mixstack::base {

/// A user other than the one we run as.
struct User {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups{};
  std::string name{}, home{};  ///< for its environment; empty: as ours
};

/// From SUDO_UID, SUDO_GID and SUDO_USER, which sudo(8) sets for its command. Nothing: we are not root, sudo ran
/// another command (a root shell, a script), or root ran sudo.
[[nodiscard]] std::optional<User> asking_user();
/// Changes the owner of a new file to that user, if he could have made it himself: in his own folder, or one that
/// everybody can write to.
void give_to_asking_user(int fd, const std::string& path);

}  // namespace mixstack::base
