// Parses the text of a --help, so that manual page and completions describe options as the help does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::cli {

/// One line of a list with its continuations: "  -n, --name NAME          all .NET processes called so".
struct HelpEntry {
  std::string left;                ///< "-n, --name NAME"
  std::vector<std::string> names;  ///< "-n", "--name"; empty: no option
  std::string value;               ///< "NAME", without the dots of "TID..."; empty: it takes none
  std::string description;         ///< in one line
};

/// The lines between two empty lines.
struct HelpBlock {
  enum class Kind : std::uint8_t { prose, usage, options, table };
  Kind kind = Kind::prose;
  std::string heading;             ///< "Limits"; empty: none
  std::vector<std::string> lines;  ///< below the heading, unchanged; in `usage` without "Usage:"
  std::vector<HelpEntry> entries;  ///< of `options`
};

/// Splits any text into blocks; a block that does not look like a list is prose.
[[nodiscard]] std::vector<HelpBlock> help_blocks(std::string_view text);

/// The entry of an option, by any of its names; null: none.
[[nodiscard]] const HelpEntry* find_entry(const std::vector<HelpBlock>& blocks, std::string_view name);

/// The first clause of a description, for the narrow lists of shells.
[[nodiscard]] std::string brief(const HelpEntry& entry);

}  // namespace mixstack::cli
