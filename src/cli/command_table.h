// Every command with its options, as the parser and the help tell them: the table that completions and the manual page
// are made from. Nobody writes it: a new command or option is in it when it is parsed and in its help.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help_page.h"
#include "cli/option_shape.h"

namespace mixstack::cli {

/// What may stand where a value does.
enum class ValueKind : std::uint8_t { none, anything, file, folder, process, words };

struct TableOption {
  std::vector<std::string> names;  ///< those that the help shows; of a positional argument its word
  bool is_positional = false;
  bool takes_many = false;
  ValueKind kind = ValueKind::none;
  std::string value;               ///< "FILE"
  std::vector<std::string> words;  ///< of ValueKind::words
  std::string description;         ///< short
  bool is_documented = false;      ///< false: the help does not have it. Tests refuse that
};

/// What can be typed after `mixstack`: "dump", "agent record".
struct TableLine {
  std::string words;
  std::vector<TableOption> options;
};

struct TableCommand {
  std::string name;
  std::string description;
  std::vector<std::string> verbs;  ///< empty: it has none
  std::vector<TableLine> lines;    ///< one, or one a verb
  std::vector<HelpBlock> help;
};

struct CommandTable {
  std::vector<HelpBlock> help;  ///< of the program itself
  std::vector<TableCommand> commands;
};

[[nodiscard]] CommandTable command_table();

}  // namespace mixstack::cli
