#include "output/help/command_table.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace mixstack::help {
namespace {

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// The kind of a value by its word in the help: "FILE", "DIR", "PID|CORE".
ValueKind kind_of(std::string_view value) {
  if (holds(value, "PID")) return ValueKind::process;
  if (holds(value, "DIR")) return ValueKind::folder;
  if (holds(value, "FILE") || holds(value, "CORE")) return ValueKind::file;
  return ValueKind::anything;
}

TableOption positional(const OptionShape& shape) {
  TableOption option;
  option.names = shape.names;
  option.is_positional = option.is_documented = true;
  option.takes_many = shape.takes_many;
  option.value = shape.names.empty() ? "" : shape.names.front();
  option.words = shape.choices;
  option.kind = shape.choices.empty() ? kind_of(option.value) : ValueKind::words;
  return option;
}

TableOption table_option(const OptionShape& shape, const std::vector<HelpBlock>& help) {
  if (shape.is_positional) return positional(shape);
  TableOption option;
  option.takes_many = shape.takes_many;
  option.words = shape.choices;
  if (std::find(shape.names.begin(), shape.names.end(), "--help") != shape.names.end()) {
    option.names = shape.names;  // every command has it, but only the program's own help lists it
    option.description = option.text = "what it does, and its options";
    option.is_documented = true;
    return option;
  }
  for (const HelpBlock& block : help)
    for (const HelpEntry& entry : block.entries)
      for (const std::string& name : entry.names()) {
        if (std::find(shape.names.begin(), shape.names.end(), name) == shape.names.end()) continue;
        option.names.push_back(name);
        option.description = brief(entry);
        option.text = entry.description;
        option.group = block.heading;
        option.value = shape.takes_value ? entry.value_word() : "";
        // A value that need not be there ("[WHAT]") is taken off before the parser sees its option.
        option.is_documented = entry.value.starts_with('[') || shape.takes_value == !entry.value.empty();
      }
  if (option.names.empty()) option.names = shape.names;
  if (shape.takes_value) option.kind = shape.choices.empty() ? kind_of(option.value) : ValueKind::words;
  return option;
}

bool is_plain_word(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

/// "mixstack agent record PID [OPTIONS]" has the verb "record". A command that can do without ("memory PID", "memory
/// diff A B") has none: its options are those of all its lines.
std::vector<std::string> verbs_of(const std::string& command, const std::vector<HelpBlock>& help) {
  std::vector<std::string> verbs;
  for (const HelpBlock& block : help) {
    if (block.kind != HelpBlock::Kind::usage) continue;
    for (const std::string& line : block.lines) {
      std::istringstream words(line);
      std::string program, first, verb;
      if (!(words >> program >> first) || first != command) continue;
      if (!(words >> verb) || !is_plain_word(verb)) return {};
      verbs.push_back(verb);
    }
  }
  return verbs;
}

TableLine line_of(std::vector<std::string> words, const std::vector<HelpBlock>& help, const OptionsOf& options_of) {
  TableLine line;
  for (const std::string& word : words) line.words += (line.words.empty() ? "" : " ") + word;
  words.emplace_back("--help");
  for (const OptionShape& shape : options_of(words)) line.options.push_back(table_option(shape, help));
  return line;
}

TableCommand command_of(const std::string& name, const std::string& description, const HelpPage& page,
                        const OptionsOf& options_of) {
  TableCommand command{name, description, {}, {}, page.blocks};
  command.verbs = verbs_of(name, command.help);
  for (const std::string& verb : command.verbs)
    command.lines.push_back(line_of({name, verb}, command.help, options_of));
  if (command.verbs.empty()) command.lines.push_back(line_of({name}, command.help, options_of));
  return command;
}

}  // namespace

CommandTable make_table(const HelpPage& program, const std::vector<HelpPage>& pages, const OptionsOf& options_of,
                        std::string version) {
  CommandTable table;
  table.version = std::move(version);
  table.help = program.blocks;
  for (const HelpBlock& block : table.help) {
    if (block.kind != HelpBlock::Kind::commands) continue;
    for (const HelpEntry& entry : block.entries) {
      const std::string name = entry.left.substr(0, entry.left.find(' '));  // "dump" of "dump --core FILE"
      const auto same = [&](const TableCommand& known) { return known.name == name; };
      if (std::any_of(table.commands.begin(), table.commands.end(), same)) continue;
      const auto page = std::find_if(pages.begin(), pages.end(), [&](const HelpPage& p) { return p.command == name; });
      table.commands.push_back(command_of(name, brief(entry), page == pages.end() ? HelpPage{} : *page, options_of));
    }
  }
  return table;
}

}  // namespace mixstack::help
