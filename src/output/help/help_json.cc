#include <algorithm>

#include "output/help/command_table.h"
#include "output/report/json_fields.h"

namespace mixstack::help {
namespace {

using report::JsonObject;
using report::Writer;

void write_words(Writer& out, const std::vector<std::string>& words) {
  report::json_array(out, words, "", [&](const std::string& word) { out << report::json_string(word); });
}

void write_option(Writer& out, const TableOption& option) {
  JsonObject one(out);
  one.key("names");
  write_words(out, option.names);
  one.text_or_null("value", option.value);
  one.key("choices");
  write_words(out, option.words);
  one.boolean("repeats", option.takes_many);
  one.text_or_null("group", option.group);
  one.text("text", option.text);
  one.close();
}

/// A command line: "dump", "agent record".
void write_line(Writer& out, const TableLine& line) {
  std::vector<TableOption> positional, named;
  for (const TableOption& option : line.options) (option.is_positional ? positional : named).push_back(option);
  JsonObject one(out);
  one.text("words", line.words);
  one.key("arguments");
  report::json_array(out, positional, "", [&](const TableOption& option) {
    JsonObject argument(out);
    argument.text("name", option.value);
    argument.key("choices");
    write_words(out, option.words);
    argument.boolean("repeats", option.takes_many);
    argument.close();
  });
  one.key("options");
  report::json_array(out, named, "\n   ", [&](const TableOption& option) { write_option(out, option); });
  one.close();
}

void write_command(Writer& out, const TableCommand& command) {
  JsonObject one(out);
  one.text("name", command.name);
  one.text("text", command.description);
  std::vector<std::string> usage;
  for (const HelpBlock& block : command.help)
    if (block.kind == HelpBlock::Kind::usage) usage.insert(usage.end(), block.lines.begin(), block.lines.end());
  one.key("usage");
  write_words(out, usage);
  one.key("lines");
  report::json_array(out, command.lines, "\n  ", [&](const TableLine& line) { write_line(out, line); });
  one.close();
}

}  // namespace

std::string help_json(const CommandTable& table, std::string_view command) {
  std::vector<TableCommand> chosen;
  for (const TableCommand& one : table.commands)
    if (one.name == command) chosen.push_back(one);
  return report::collect([&](Writer& out) {
    JsonObject document(out);
    document.word("format", "mixstack-help");
    document.number("format_version", std::uint64_t{1});
    document.text("version", table.version);
    document.key("commands");
    report::json_array(out, chosen.empty() ? table.commands : chosen, "\n ",
                       [&](const TableCommand& one) { write_command(out, one); });
    document.close();
    out << '\n';
  });
}

}  // namespace mixstack::help
