// The user who ran mixstack by sudo.
#pragma once

#include <optional>
#include <string>

#include "session/launch.h"

namespace mixstack::cli {

/// From SUDO_UID, SUDO_GID and SUDO_USER, which sudo(8) sets for its command. Nothing: we are not root, sudo ran
/// another command (a root shell, a script), or root ran sudo.
[[nodiscard]] std::optional<session::LaunchUser> asking_user();
/// "uid 1000 (somebody)".
[[nodiscard]] std::string user_words(const session::LaunchUser& user);
/// Changes the owner of a new file to that user, if he could have made it himself: in his own folder, or one that
/// everybody can write to.
void give_to_asking_user(int fd, const std::string& path);

}  // namespace mixstack::cli
