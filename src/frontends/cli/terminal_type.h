// Finds a terminal type that ncurses knows.
#pragma once

#include <string>

namespace mixstack::cli {

/// The terminal type for ncurses: TERM, if this system's terminfo has it. Containers often have no terminfo, and other
/// systems lack the newest terminals: a type whose name belongs to the xterm family is replaced by xterm-256color, or
/// by our own description. Empty: unknown. May set TERMINFO, so call it before threads start.
[[nodiscard]] std::string usable_terminal_type(int out);

}  // namespace mixstack::cli
