// The path of our own executable.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::base {

/// Our own path, quoted for a shell where needed. Not the word `mixstack`, which may be an alias or a link.
/// "PATH/mixstack" if the path is unknown or not printable.
[[nodiscard]] std::string own_program_for_shell();
[[nodiscard]] std::string quoted_for_shell(std::string_view path);

}  // namespace mixstack::base
