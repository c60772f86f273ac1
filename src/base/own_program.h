// The file that we are.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::base {

/// Its path, as words for a shell: quoted where it has to be. Not what `mixstack` means to one: that may be an alias,
/// or a link. "PATH/mixstack" where it cannot be told, or is nothing for a terminal.
[[nodiscard]] std::string own_program_for_shell();
[[nodiscard]] std::string quoted_for_shell(std::string_view path);

}  // namespace mixstack::base
