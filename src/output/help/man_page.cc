#include <fmt/format.h>

#include <algorithm>

#include "output/help/completions.h"

namespace mixstack::help {
namespace {

/// Escapes characters that are special to troff.
std::string escaped(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

/// "\fB-n\fR, \fB--name\fR \fINAME\fR"
std::string option_text(const HelpEntry& entry) {
  std::string out, word;
  for (const char c : entry.shown() + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    const bool ends_with_comma = word.ends_with(',');
    if (ends_with_comma) word.pop_back();
    if (!out.empty()) out += ' ';
    out += fmt::format("\\f{}{}\\fR{}", word.starts_with('-') ? 'B' : 'I', escaped(word), ends_with_comma ? "," : "");
    word.clear();
  }
  return out;
}

std::string lines_as_they_are(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines) out += escaped(line) + '\n';
  return out + ".fi\n";
}

std::string block_text(const HelpBlock& block) {
  std::string out = block.heading.empty() ? ".PP\n" : fmt::format(".PP\n\\fB{}:\\fR\n", escaped(block.heading));
  switch (block.kind) {
    case HelpBlock::Kind::commands:
    case HelpBlock::Kind::options:
      for (const HelpEntry& entry : block.entries)
        out += fmt::format(".TP\n{}\n{}\n", option_text(entry), escaped(entry.description));
      return block.heading.empty() ? out.substr(std::string_view(".PP\n").size()) : out;
    case HelpBlock::Kind::table:
      return out + (block.heading.empty() ? "" : ".br\n") + lines_as_they_are(block.lines);
    case HelpBlock::Kind::usage:
      return ".PP\n" + lines_as_they_are(block.lines);
    case HelpBlock::Kind::prose:
      for (const std::string& line : block.lines) out += escaped(line) + '\n';
      return out;
  }
  return out;
}

bool is_of_the_end(const HelpBlock& block) { return block.heading == "Exit codes" || block.heading == "Start here"; }

std::string command_section(const TableCommand& command) {
  std::string out = fmt::format(".SH {}\n", upper("mixstack " + command.name));
  for (const HelpBlock& block : command.help)
    if (!is_of_the_end(block)) out += block_text(block);
  return out;
}

/// All blocks with this heading, of the program and of commands, as one section.
std::string section_of(const CommandTable& table, std::string_view heading, std::string_view title) {
  std::string out;
  const auto add = [&](const std::vector<HelpBlock>& help) {
    for (const HelpBlock& block : help)
      if (block.heading == heading) out += lines_as_they_are(block.lines);
  };
  add(table.help);
  for (const TableCommand& command : table.commands) add(command.help);
  return out.empty() ? out : fmt::format(".SH {}\n{}", title, out);
}

std::string name_section(const CommandTable& table) {
  std::string summary;
  if (!table.help.empty())
    for (const std::string& line : table.help.front().lines) summary += (summary.empty() ? "" : " ") + line;
  constexpr std::string_view kProgram = "mixstack: ";
  if (summary.starts_with(kProgram)) summary.erase(0, kProgram.size());
  return fmt::format(".SH NAME\nmixstack \\- {}\n", escaped(summary));
}

}  // namespace

std::string man_page(const CommandTable& table) {
  std::string out = ".\\\" mixstack completions man writes this\n";
  out += fmt::format(".TH MIXSTACK 1 \"\" \"mixstack {}\" \"User Commands\"\n", table.version);
  out += name_section(table) + ".SH SYNOPSIS\n.nf\n";
  for (const TableCommand& command : table.commands)
    for (const HelpBlock& block : command.help)
      if (block.kind == HelpBlock::Kind::usage)
        for (const std::string& line : block.lines) out += escaped(line) + '\n';
  out += ".fi\n.SH COMMANDS\n";
  for (const TableCommand& command : table.commands)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(command.name), escaped(command.description));
  for (const HelpBlock& block : table.help)
    if (block.kind == HelpBlock::Kind::options)
      out += ".SH OPTIONS\n" + block_text({block.kind, "", {}, block.entries});
  for (const TableCommand& command : table.commands) out += command_section(command);
  out += section_of(table, "Exit codes", "EXIT STATUS");
  out += section_of(table, "Start here", "EXAMPLES");
  return out + ".SH SEE ALSO\n.BR gdb (1),\n.BR ptrace (2),\n.BR core (5)\n";
}

}  // namespace mixstack::help
