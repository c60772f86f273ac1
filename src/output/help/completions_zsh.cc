#include <fmt/format.h>

#include "output/help/completions.h"

namespace mixstack::help {
namespace {

/// Escapes a text inside '...': quotes, and the special characters of _arguments and _describe.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string action(const TableOption& option) {
  std::string words;
  switch (option.kind) {
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::process:
      return "_mixstack_processes";
    case ValueKind::words:
      for (const std::string& word : option.words) words += (words.empty() ? "" : " ") + word;
      return "(" + words + ")";
    case ValueKind::anything:
    case ValueKind::none:
      break;
  }
  return " ";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

/// '(-n --name)'{-n,--name}'[all .NET processes called so]:NAME: '
std::string argument(const TableOption& option) {
  if (option.is_positional)
    return fmt::format("'{}:{}:{}'", option.takes_many ? "*" : "", quoted(option.value), action(option));
  std::string rest = fmt::format("[{}]", quoted(option.description));
  if (option.kind != ValueKind::none) rest += fmt::format(":{}:{}", quoted(option.value), action(option));
  if (option.names.size() == 1)
    return fmt::format("'{}{}{}'", option.takes_many ? "*" : "", option.names.front(), rest);
  const std::string prefix = option.takes_many ? "'*'" : fmt::format("'({})'", joined(option.names, " "));
  return fmt::format("{}{{{}}}'{}'", prefix, joined(option.names, ","), rest);
}

std::string line_case(const TableLine& line) {
  std::string text = fmt::format("    ('{}')\n      _arguments -s -S", line.words);
  for (const TableOption& option : line.options) text += " \\\n        " + argument(option);
  return text + " ;;\n";
}

std::string described(const std::string& array, const std::vector<std::pair<std::string, std::string>>& words) {
  std::string text = fmt::format("  local -a {0}\n  {0}=(\n", array);
  for (const auto& [word, description] : words) text += fmt::format("    '{}:{}'\n", quoted(word), quoted(description));
  return text + "  )\n";
}

constexpr std::string_view kBegin = R"zsh(#compdef mixstack
# zsh completion for mixstack: 'mixstack completions zsh' writes it.

_mixstack_processes() {
  local -a processes
  processes=(${${(f)"$(mixstack ps --quick 2>/dev/null)"}/ /:})
  _describe -t processes '.NET process' processes
}

_mixstack() {
  local command=${words[2]} verb=${words[3]}
)zsh";

}  // namespace

std::string zsh_completions(const CommandTable& table) {
  std::string text(kBegin), cases, verbs;
  std::vector<std::pair<std::string, std::string>> names;
  for (const TableCommand& command : table.commands) {
    names.emplace_back(command.name, command.description);
    if (!command.verbs.empty())
      verbs += fmt::format(
          "    ({})\n      if ((CURRENT == 2)); then _values verb {}; return; fi\n"
          "      command+=\" $verb\"; shift words; ((CURRENT--)) ;;\n",
          command.name, joined(command.verbs, " "));
    for (const TableLine& line : command.lines) cases += line_case(line);
  }
  text += described("commands", names);
  text +=
      "  if ((CURRENT == 2)); then\n    _describe -t commands command commands\n"
      "    _arguments '(-)'{-h,--help}'[what it does]' '(-)'{-V,--version}'[the version]'\n    return\n  fi\n";
  text += "  shift words; ((CURRENT--))\n  case \"$command\" in\n    ([0-9]*) command=dump ;;\n" + verbs + "  esac\n";
  text += "  case \"$command\" in\n" + cases + "  esac\n}\n\n";
  return text + "if [[ $funcstack[1] == _mixstack ]]; then _mixstack \"$@\"; else compdef _mixstack mixstack; fi\n";
}

}  // namespace mixstack::help
