// The text of a --help, taken apart: what the manual page and the completions say of an option is what its help says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::cli {

/// One line of a list with its continuations: "  -n, --name NAME          all .NET processes called so".
struct HelpEntry {
  std::string left;                ///< "-n, --name NAME"
  std::vector<std::string> names;  ///< "-n", "--name"; empty for what is no option
  std::string value;               ///< "NAME", without the dots of "TID..."; empty: it takes none
  std::string description;         ///< in one line
};

/// What stands between two empty lines.
struct HelpBlock {
  enum class Kind : std::uint8_t { prose, usage, options, table };
  Kind kind = Kind::prose;
  std::string heading;             ///< "Limits"; empty: none
  std::vector<std::string> lines;  ///< below the heading, as they are; of `usage` without the word
  std::vector<HelpEntry> entries;  ///< of `options`
};

/// Any text has blocks; what looks like no list is prose.
[[nodiscard]] std::vector<HelpBlock> help_blocks(std::string_view text);

/// The entry of an option (any of its names); null: the text does not have it.
[[nodiscard]] const HelpEntry* find_entry(const std::vector<HelpBlock>& blocks, std::string_view name);

/// The first clause of a description, for the narrow lists of shells.
[[nodiscard]] std::string brief(const HelpEntry& entry);

}  // namespace mixstack::cli
