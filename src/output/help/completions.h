// Completions for shells and the manual page, made from the table of commands.
#pragma once

#include <string>

#include "output/help/command_table.h"

namespace mixstack::help {

[[nodiscard]] std::string bash_completions(const CommandTable& table);
[[nodiscard]] std::string zsh_completions(const CommandTable& table);
[[nodiscard]] std::string fish_completions(const CommandTable& table);

/// The manual page in troff's man macros, as for `man -l FILE`.
[[nodiscard]] std::string man_page(const CommandTable& table);

}  // namespace mixstack::help
