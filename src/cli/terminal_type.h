// What ncurses knows of the terminal we are at.
#pragma once

#include <string>

namespace mixstack::cli {

/// The type by which ncurses finds how to write to the terminal behind `out`: that of TERM, where this system knows it.
/// Containers have no list of terminals, and machines one that lacks the newest: those that are by their name of the
/// family of xterm are taken for it, if need be by a description of our own. Empty: nothing is known. May set TERMINFO,
/// so it is called before there are threads.
[[nodiscard]] std::string usable_terminal_type(int out);

}  // namespace mixstack::cli
