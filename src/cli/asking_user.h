// The user who ran sudo, where we run as root by it.
#pragma once

#include <optional>
#include <string>

#include "session/launch.h"

namespace mixstack::cli {

/// By SUDO_UID, SUDO_GID and SUDO_USER, as sudo(8) sets them for the command that it runs. Nothing: we are not root, or
/// it was another command that sudo ran (a shell of root, a script), or root asked.
[[nodiscard]] std::optional<session::LaunchUser> asking_user();
/// "uid 1000 (somebody)".
[[nodiscard]] std::string user_words(const session::LaunchUser& user);
/// Gives a file that we made to who asked, where he might have made it himself: his own folder, or one for all.
void give_to_asking_user(int fd, const std::string& path);

}  // namespace mixstack::cli
