// Every command with its options, as data: the source of completions, the manual page and `--help --json`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "output/help/help_page.h"

namespace mixstack::help {

/// The kind of an option's value, for completion.
enum class ValueKind : std::uint8_t { none, anything, file, folder, process, words };

struct TableOption {
  std::vector<std::string> names;  ///< names in the help; the word of a positional argument
  bool is_positional = false;
  bool takes_many = false;
  ValueKind kind = ValueKind::none;
  std::string value;               ///< "FILE"
  std::vector<std::string> words;  ///< of ValueKind::words
  std::string description;         ///< short
  std::string text;                ///< whole
  std::string group;               ///< heading of its part of the help; empty: none
  bool is_documented = false;      ///< false: missing in the help, which fails a test
};

/// A command, or a command and its verb: "dump", "agent record".
struct TableLine {
  std::string words;
  std::vector<TableOption> options;
};

struct TableCommand {
  std::string name;
  std::string description;
  std::vector<std::string> verbs;  ///< empty: it has none
  std::vector<TableLine> lines;    ///< one, or one per verb
  std::vector<HelpBlock> help;
};

struct CommandTable {
  std::string version;          ///< "0.1.0"
  std::vector<HelpBlock> help;  ///< of the program itself
  std::vector<TableCommand> commands;
};

/// An option of a parser.
struct OptionShape {
  std::vector<std::string> names;  ///< "-n", "--name"; for a positional argument "PID"
  bool is_positional = false;
  bool takes_value = false;
  bool takes_many = false;
  std::vector<std::string> choices;  ///< the possible words; empty: any
};
/// The options of the parser that these words choose: a command, or a command and its verb.
using OptionsOf = std::function<std::vector<OptionShape>(const std::vector<std::string>& words)>;

/// The table of what `program`, the page of the program itself, lists. `pages`: one of each command.
[[nodiscard]] CommandTable make_table(const HelpPage& program, const std::vector<HelpPage>& pages,
                                      const OptionsOf& options_of, std::string version);

/// One JSON document (docs/formats/help.schema.json) about one command; about all if `command` is none.
[[nodiscard]] std::string help_json(const CommandTable& table, std::string_view command);

}  // namespace mixstack::help
