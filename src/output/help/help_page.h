// The page of a command, as data: its options are declared in it, and parsers take their names from it. --help, the
// manual page, completions and `--help --json` are written from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::help {

/// One option, or one line of a list.
struct HelpEntry {
  std::string left;         ///< "-n, --name"; of a list of commands "dump PID"
  std::string value;        ///< "NAME"; "TID...": as often as wanted; empty: it takes none
  std::string description;  ///< in one line

  /// "-n", "--name"; empty: no option.
  [[nodiscard]] std::vector<std::string> names() const;
  /// "-n, --name NAME".
  [[nodiscard]] std::string shown() const { return value.empty() ? left : left + " " + value; }
  /// Without the dots of "TID...".
  [[nodiscard]] std::string value_word() const { return value.substr(0, value.find('.')); }
};

struct HelpBlock {
  enum class Kind : std::uint8_t { prose, usage, options, table, commands };
  Kind kind = Kind::prose;
  std::string heading;               ///< "Limits"; empty: none
  std::vector<std::string> lines{};  ///< as they are, below the heading; in `usage` one a command line
  std::vector<HelpEntry> entries{};  ///< of `options` and `commands`
};

struct HelpPage {
  std::string command;      ///< "dump"; empty: the program itself
  std::size_t column = 24;  ///< at which descriptions begin
  std::vector<HelpBlock> blocks;
};

[[nodiscard]] HelpBlock prose(std::string_view text);
[[nodiscard]] HelpBlock usage(std::vector<std::string> lines);
[[nodiscard]] HelpBlock options(std::string heading, std::vector<HelpEntry> entries);
[[nodiscard]] HelpBlock commands(std::string heading, std::vector<HelpEntry> entries);
[[nodiscard]] HelpBlock table(std::string heading, std::string_view text);
/// Entries that several commands share, between those of one.
[[nodiscard]] std::vector<HelpEntry> joined(std::vector<HelpEntry> first, const std::vector<HelpEntry>& then);

/// The text of --help: at most 79 columns.
[[nodiscard]] std::string help_text(const HelpPage& page);

/// The entry of an option, by any of its names; null: none.
[[nodiscard]] const HelpEntry* find_entry(const std::vector<HelpBlock>& blocks, std::string_view name);

/// The first clause of a description, for the narrow lists of shells.
[[nodiscard]] std::string brief(const HelpEntry& entry);

}  // namespace mixstack::help
