// Input: the arguments after the program's name.
// Output: an Invocation: a command with its options as data, a text to print (help, version), or a usage error.
// Algorithm: 1. The first word selects the command. A number or an option in its place means `dump`. 2. CLI11 splits
// the rest into texts and flags, since its own conversions give poor error messages. 3. `CommandLine` (parsing.h) reads
// the values, and each command checks its options; the first sentence for the user is the error. 4. `dump` is parsed
// twice if need be: with PID required first, so that `-t 12 PID` leaves the last number to PID, then without, since the
// PID may come from --pid or --name. Commands with many options have files of their own: dump_arguments.cc, ... Bounds:
// numbers are limited where they are converted (parsing.cc); a path for the agent has at most 1024 bytes.
#include "frontends/cli/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "frontends/cli/version.h"
#include "output/help/completions.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

Invocation parse_ps(std::vector<std::string> words) {
  CommandLine line(Action::ps, ps_page());
  PsArguments& ps = line.result().ps;
  line.text("--name", ps.name);
  line.flag("--json", ps.json);
  line.flag("--wide", ps.wide);
  line.flag("--quick", ps.quick);
  return line.read(std::move(words));
}

Invocation parse_doctor(std::vector<std::string> words) {
  CommandLine line(Action::doctor, doctor_page());
  DoctorArguments& doctor = line.result().doctor;
  line.value("PID", [&doctor](const std::string& text) {
    const auto pid = id_number(text);
    doctor.pid = pid.value_or(0);
    return pid ? std::string() : fmt::format("'{}' is not a pid", text);
  });
  line.flag("--json", doctor.json);
  return line.read(std::move(words));
}

Invocation parse_view(std::vector<std::string> words) {
  CommandLine line(Action::view, view_page());
  ViewArguments& view = line.result().view;
  line.text("FILE", view.in);
  line.number("--port", view.port, {0, UINT16_MAX}, "is no port");
  const auto has_file = [&] { return view.in.empty() ? "which recording? mixstack view FILE.mxr" : ""; };
  return line.read(std::move(words), {has_file, line.values()});
}

Invocation parse_pack(std::vector<std::string> words) {
  CommandLine line(Action::pack, pack_page());
  PackArguments& pack = line.result().pack;
  std::string what;
  line.text("PID", what);
  line.text("--out", pack.out);
  line.text("--core", pack.core.path);
  declare_core_files(line, pack.core);
  line.flag("--full", pack.full);
  line.flag("--with-environment", pack.with_environment);
  line.flag("--with-command-line", pack.with_command_line);
  line.flag("--force", pack.force);
  const auto has_output = [&] {
    return pack.out.empty() ? "pack: say where to: -o FILE, or -o - for standard output" : "";
  };
  constexpr char kOnlyOne[] = "pack: say what, and one thing: a pid, or a core's path";
  return line.read(std::move(words), {[&] { return read_subject(what, pack, kOnlyOne); }, has_output});
}

Invocation parse_completions(std::vector<std::string> words) {
  CommandLine line(Action::print, completions_page());
  std::string (*write)(const help::CommandTable&) = nullptr;
  line.choice("SHELL", write,
              {{"bash", help::bash_completions},
               {"zsh", help::zsh_completions},
               {"fish", help::fish_completions},
               {"man", help::man_page}});
  const auto has_shell = [&] {
    return write == nullptr ? "for which shell? bash, zsh or fish; man: the manual page" : "";
  };
  Invocation result = line.read(std::move(words), {line.values(), has_shell});
  if (result.action == Action::print && result.text.empty()) result.text = write(command_table());
  return result;
}

/// `mixstack 4711`, `mixstack -n web`, `mixstack --merge 4711` mean `dump`.
Invocation parse_without_command(std::vector<std::string> arguments) {
  const std::string first = arguments.front();
  Invocation result = parse_dump(std::move(arguments));
  if (result.action != Action::usage_error) return result;
  const std::string meant =
      nearest(first, {"--help", "--version"});  // options of the program, which the parser of dump cannot suggest
  return meant.empty() ? result : wrong(fmt::format("unexpected argument: {}{}", first, meant));
}

struct Command {
  const char* name;
  Invocation (*parse)(std::vector<std::string> words);
  HelpPage (*page)();
};
constexpr Command kCommands[] = {
    {"dump", parse_dump, dump_page},       {"why", parse_why, why_page},
    {"memory", parse_memory, memory_page}, {"record", parse_record, record_page},
    {"top", parse_top, top_page},          {"convert", parse_convert, convert_page},
    {"diff", parse_diff, diff_page},       {"view", parse_view, view_page},
    {"agent", parse_agent, agent_page},    {"ps", parse_ps, ps_page},
    {"doctor", parse_doctor, doctor_page}, {"symbols", parse_symbols, symbols_page},
    {"pack", parse_pack, pack_page},       {"completions", parse_completions, completions_page},
};

/// `--help --json`, in any order, before what a program to start is given.
bool wants_help_as_json(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto has = [&](std::string_view a, std::string_view b) {
    return std::any_of(arguments.begin(), end, [=](const std::string& word) { return word == a || word == b; });
  };
  return has("-h", "--help") && has("-j", "--json");
}

}  // namespace

help::CommandTable command_table() {
  std::vector<HelpPage> pages;
  for (const Command& command : kCommands) pages.push_back(command.page());
  const auto options_of = [](std::vector<std::string> command) {
    command.emplace_back("--help");
    return parse_arguments(std::move(command)).options;
  };
  return help::make_table(main_page(), pages, options_of, std::string(version_number()));
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  names.emplace_back("help");
  return names;
}

Invocation parse_arguments(std::vector<std::string> arguments) {
  if (arguments.empty()) return wrong("say what to do: mixstack dump PID");
  const std::string first = arguments.front();
  if (wants_help_as_json(arguments)) return {Action::print, {}, help::help_json(command_table(), first)};
  if (first == "--help" || first == "-h" || first == "help") return {Action::print, {}, help::help_text(main_page())};
  if (first == "--version" || first == "-V") return {Action::print, {}, version_text()};
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  for (const Command& command : kCommands) {
    if (first != command.name) continue;
    Invocation invocation = command.parse(rest);
    if (invocation.action == Action::usage_error) invocation.command = first;
    return invocation;
  }
  if (whole_number(first, INT32_MAX) || first.starts_with('-')) return parse_without_command(std::move(arguments));
  return wrong(fmt::format("'{}' is no command of mixstack{}", first, nearest(first, command_names())));
}

}  // namespace mixstack::cli
