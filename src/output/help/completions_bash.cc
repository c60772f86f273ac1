#include <fmt/format.h>

#include "output/help/completions.h"

namespace mixstack::help {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Arguments of the shell function `_mixstack_value` for a kind.
std::string kind_words(const TableOption& option) {
  switch (option.kind) {
    case ValueKind::file:
      return "file";
    case ValueKind::folder:
      return "folder";
    case ValueKind::process:
      return "process";
    case ValueKind::words:
      return "words " + joined(option.words);
    case ValueKind::anything:
      return "anything";
    case ValueKind::none:
      break;
  }
  return "";
}

/// The cases of one line: values after options that take one, then options and positional arguments.
std::string line_cases(const TableLine& line) {
  std::string text = fmt::format("    '{}')\n      case \"$before\" in\n", line.words), options, positional;
  for (const TableOption& option : line.options) {
    if (option.is_positional) {
      const std::string call = "_mixstack_value " + kind_words(option);
      if (positional.find(call) == std::string::npos) positional += (positional.empty() ? "" : "; ") + call;
      continue;
    }
    options += (options.empty() ? "" : " ") + joined(option.names);
    if (option.kind == ValueKind::none) continue;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : "|") + name;
    text += fmt::format("        {}) _mixstack_value {}; return ;;\n", names, kind_words(option));
  }
  text += "      esac\n";
  text += fmt::format("      if [[ $word == -* ]]; then _mixstack_value words {}\n", options);
  return text + fmt::format("      else {}; fi ;;\n", positional.empty() ? ":" : positional);
}

constexpr std::string_view kValues = R"bash(# bash completion for mixstack: 'mixstack completions bash' writes it.

_mixstack_value() {
  local kind=$1
  shift
  case "$kind" in
    file) compopt -o filenames; _mixstack_add -f ;;
    folder) compopt -o filenames; _mixstack_add -d ;;
    process) _mixstack_add -W "$("${COMP_WORDS[0]}" ps --quick 2>/dev/null | cut -d ' ' -f 1)" ;;
    words) _mixstack_add -W "$*" ;;
  esac
}

_mixstack_add() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@" -- "$word"); }

)bash";

/// Finds the word at the cursor, the option before it, and the command. bash splits "--option=value" into three words.
constexpr std::string_view kBegin = R"bash(
_mixstack() {
  local IFS=$' \t\n' word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= verb= i
  COMPREPLY=()
  if [[ $word == "=" ]]; then
    word=
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      -*) [[ $command ]] || continue; break ;;
      *) if [[ ! $command ]]; then command=${COMP_WORDS[i]}; else verb=${COMP_WORDS[i]}; break; fi ;;
    esac
  done
)bash";

}  // namespace

std::string bash_completions(const CommandTable& table) {
  std::string text(kValues), names, with_verbs, cases;
  for (const TableCommand& command : table.commands) {
    names += (names.empty() ? "" : " ") + command.name;
    if (!command.verbs.empty())
      with_verbs += fmt::format(
          "    {})\n      if [[ ! $verb ]]; then _mixstack_value words {} --help; return; fi\n"
          "      command+=\" $verb\" ;;\n",
          command.name, joined(command.verbs));
    for (const TableLine& line : command.lines) cases += line_cases(line);
  }
  text.erase(text.size() - 1);
  text += kBegin;
  text += "  case \"$command\" in\n";
  text += fmt::format("    '') _mixstack_value words {} --help --version; return ;;\n", names);
  text += "    [0-9]*) command=dump ;;\n" + with_verbs + "  esac\n";
  text += "  case \"$command\" in\n" + cases + "  esac\n}\n\ncomplete -F _mixstack mixstack\n";
  return text;
}

}  // namespace mixstack::help
