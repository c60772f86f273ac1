#include <fmt/format.h>

#include "output/help/completions.h"

namespace mixstack::help {
namespace {

/// Quotes a text for fish.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

constexpr std::string_view kProcesses = "(__mixstack_processes)";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The values of an option, as options of `complete`.
std::string value(const TableOption& option) {
  switch (option.kind) {
    case ValueKind::file:
      return " -r -F";
    case ValueKind::folder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::process:
      return fmt::format(" -x -a '{}'", kProcesses);
    case ValueKind::words:
      return fmt::format(" -x -a {}", quoted(joined(option.words)));
    case ValueKind::anything:
      return " -x";
    case ValueKind::none:
      break;
  }
  return "";
}

std::string option_line(const std::string& condition, const TableOption& option) {
  std::string text = fmt::format("complete -c mixstack -n {}", quoted(condition));
  if (option.is_positional) {
    if (option.kind == ValueKind::file) return text + " -F\n";
    if (option.kind == ValueKind::words) return text + fmt::format(" -a {}\n", quoted(joined(option.words)));
    return option.kind == ValueKind::process ? text + fmt::format(" -a '{}'\n", kProcesses) : "";
  }
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text + fmt::format("{} -d {}\n", value(option), quoted(option.description));
}

/// `__mixstack_at agent record` is true if the words before the cursor, without options, begin with "agent record".
constexpr std::string_view kBegin = R"fish(# fish completion for mixstack: 'mixstack completions fish' writes it.

function __mixstack_at
    set -l words (commandline -opc)
    set -e words[1]
    if set -q words[1]; and string match -qr '^[0-9]+$' -- $words[1]
        set words dump $words
    end
    if test (count $argv) = 0
        not set -q words[1]
        return
    end
    test (count $words) -ge (count $argv); or return 1
    test "$words[1..$(count $argv)]" = "$argv"
end

function __mixstack_needs_verb
    set -l words (commandline -opc)
    test (count $words) = 2; and test "$words[2]" = "$argv[1]"
end

function __mixstack_processes
    mixstack ps --quick 2>/dev/null | string replace ' ' \t
end

complete -c mixstack -f
complete -c mixstack -n __mixstack_at -s h -l help -d 'what it does'
complete -c mixstack -n __mixstack_at -s V -l version -d 'the version'
)fish";

}  // namespace

std::string fish_completions(const CommandTable& table) {
  std::string text(kBegin);
  for (const TableCommand& command : table.commands) {
    text +=
        fmt::format("complete -c mixstack -n __mixstack_at -a {} -d {}\n", command.name, quoted(command.description));
    if (!command.verbs.empty())
      text += fmt::format("complete -c mixstack -n '__mixstack_needs_verb {}' -a {}\n", command.name,
                          quoted(joined(command.verbs)));
    for (const TableLine& line : command.lines)
      for (const TableOption& option : line.options) text += option_line("__mixstack_at " + line.words, option);
  }
  return text;
}

}  // namespace mixstack::help
