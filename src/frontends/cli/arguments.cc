// Input: the arguments after the program's name.
// Output: an Invocation: a command with its options as data, a text to print (help, version), or a usage error.
// Algorithm: 1. The first word selects the command. A number or an option in its place means `dump`.
// 2. CLI11 splits the rest into raw texts (RawOptions), since its own conversions give poor error messages.
// 3. The `read_...` functions convert and check the texts in a fixed order; each returns "" or a sentence for the user,
// and the first sentence is the error. 4. `dump` is parsed twice if need be: with PID required first, so that
// `-t 12 PID` leaves the last number to PID, then without, since the PID may come from --pid or --name.
// record, top, convert, diff, view, why and memory are parsed in files of their own.
// Bounds: numbers are limited where they are converted (parsing.h); a path for the agent has at most 1024 bytes.
#include "frontends/cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "frontends/cli/command_table.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "frontends/cli/version.h"
#include "output/help/completions.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

/// Texts of options from the parser, not checked yet.
struct RawOptions {
  std::string pid, pid_option, max_frames, frame_budget, stop_timeout, wait, color, provider, heap_limit;
  std::vector<std::string> threads, more_pids;
  bool only_sysroot = false, no_lines = false, all_lines = false;
  bool help = false;
};

void declare_dump(OptionSet& options, RawOptions& raw, DumpArguments& dump, bool pid_must_be_positional) {
  options.positional("PID", raw.pid)->required(pid_must_be_positional);
  options.positional("MORE_PIDS", raw.more_pids);
  options.value("--pid", raw.pid_option);
  options.value("--name", dump.name);
  options.value("--core", dump.core.path);
  options.value("--core-of", dump.stored_core);
  options.value("--sysroot", dump.core.sysroots)->allow_extra_args(false);
  options.value("--exe", dump.core.executable);
  options.flag("--only-sysroot", raw.only_sysroot);
  options.value("--thread", raw.threads, "--threads")->expected(1, 1 << 20)->delimiter(',');
  options.flag("--json", dump.json);
  options.flag("--managed-only", dump.managed_only);
  options.flag("--frames", dump.options.walk.explicit_frames);
  options.flag("--registers", dump.options.walk.keep_registers);
  options.flag("--explain", dump.options.walk.explain);
  options.flag("--arguments", dump.options.arguments);
  options.flag("--data", dump.options.data);
  options.flag("--merge", dump.merge);
  options.flag("--tree", dump.tree);
  options.flag("--all", dump.all);
  options.flag("--wide", dump.wide);
  options.flag("--no-pager", dump.no_pager);
  options.flag("--raw-names", dump.raw_names);
  options.flag("--no-fold", dump.no_fold);
  options.flag("--async", dump.async);
  options.flag("--heap", dump.heap);
  options.value("--heap-limit", raw.heap_limit);
  options.flag("--no-lines", raw.no_lines);
  options.flag("--all-lines", raw.all_lines);
  options.value("--provider", raw.provider)->type_name("auto|cdac|dac");
  options.value("--symbol-path", dump.symbol_path);
  options.value("--dac", dump.runtime.dac_path);
  options.value("--max-frames", raw.max_frames);
  options.value("--frame-budget", raw.frame_budget);
  options.flag("--no-stop", dump.no_stop);
  options.value("--stop-timeout", raw.stop_timeout);
  options.value("--wait", raw.wait);
  options.value("--color", raw.color, "--colour")->type_name("auto|always|never");
}

void read_lines(const RawOptions& raw, DumpArguments& dump) {
  if (raw.all_lines) dump.native_lines = NativeLines::all;
  if (!raw.no_lines) return;
  dump.native_lines = NativeLines::none;
  dump.runtime.lines = false;
}

/// Returns "" or the error for the user.
std::string read_core(const RawOptions& raw, DumpArguments& dump) {
  const bool is_core = !dump.core.path.empty() || !dump.stored_core.empty();
  if (!is_core && (!dump.core.sysroots.empty() || !dump.core.executable.empty() || raw.only_sysroot))
    return "--sysroot, --exe and --only-sysroot are for cores: add --core FILE";
  if (!is_core) return {};
  if (dump.no_stop) return "--no-stop is for processes: without a core";
  if (!dump.core.path.empty() && !dump.stored_core.empty()) return "--core and --core-of: one of them";
  if (!raw.pid.empty() || !raw.pid_option.empty()) return "a pid and a core: one of them";
  dump.core.use_own_files = !raw.only_sysroot;
  return {};
}

std::string read_pid(const RawOptions& raw, DumpArguments& dump) {
  if (!dump.core.path.empty() || !dump.stored_core.empty())
    return dump.name.empty() ? "" : "--name is for processes: without --core";
  if (!raw.pid.empty() && !raw.pid_option.empty()) return "the pid is given twice, as PID and with --pid";
  const std::string& text = raw.pid.empty() ? raw.pid_option : raw.pid;
  if (!dump.name.empty()) return text.empty() ? "" : "a pid and --name: one of them";
  if (text.empty())
    return "which process? Write its pid: mixstack dump PID (mixstack ps lists them), or a core: mixstack dump --core "
           "FILE";
  const auto pid = whole_number(text, INT32_MAX);
  if (!pid || *pid == 0) return fmt::format("'{0}' is not a pid; by name: mixstack dump -n {0}", text);
  dump.pid = static_cast<std::uint32_t>(*pid);
  for (const std::string& more : raw.more_pids) {
    const auto another = whole_number(more, INT32_MAX);
    if (!another || *another == 0) return fmt::format("unexpected argument: '{}' is not a pid", more);
    dump.more_pids.push_back(static_cast<std::uint32_t>(*another));
  }
  if (!raw.threads.empty() && !dump.more_pids.empty()) return "--thread is for one process";
  return {};
}

std::string read_provider(const RawOptions& raw, DumpArguments& dump) {
  if (raw.provider == "cdac") {
    dump.runtime.provider = ManagedProvider::descriptor;
  } else if (raw.provider == "dac") {
    dump.runtime.provider = ManagedProvider::dac;
  } else if (!raw.provider.empty() && raw.provider != "auto") {
    return fmt::format("--provider: '{}' is none of cdac, dac, auto", raw.provider);
  }
  if (!dump.runtime.dac_path.empty() && dump.runtime.provider == ManagedProvider::descriptor)
    return "--dac FILE is of no use with --provider cdac";
  return {};
}

std::string read_threads(const RawOptions& raw, DumpArguments& dump) {
  for (const std::string& text : raw.threads) {
    const auto tid = whole_number(text, INT32_MAX);
    if (!tid || *tid == 0) return fmt::format("'{}' is not a thread id", text);
    dump.options.threads.push_back(static_cast<ThreadId>(*tid));
  }
  auto& all = dump.options.threads;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return {};
}

std::string read_limits(const RawOptions& raw, DumpArguments& dump) {
  if (!raw.max_frames.empty()) {
    const auto limit = whole_number(raw.max_frames, UINT32_MAX);
    if (!limit || *limit == 0) return fmt::format("--max-frames: '{}' is not a number of frames", raw.max_frames);
    dump.options.walk.max_frames = static_cast<std::uint32_t>(*limit);
  }
  if (!raw.frame_budget.empty()) {
    const auto limit = whole_number(raw.frame_budget, UINT32_MAX);
    if (!limit || *limit == 0) return fmt::format("--frame-budget: '{}' is not a number of frames", raw.frame_budget);
    dump.options.frame_budget = static_cast<std::size_t>(*limit);
  }
  if (!raw.stop_timeout.empty()) {
    const auto timeout = duration(raw.stop_timeout);
    if (!timeout) return fmt::format("--stop-timeout: '{}' is not a time like 20ms or 2s", raw.stop_timeout);
    dump.options.stop_timeout = *timeout;
  }
  if (!raw.wait.empty()) {
    const auto timeout = duration(raw.wait);
    if (!timeout) return fmt::format("--wait: '{}' is not a time like 500ms or 2s", raw.wait);
    dump.options.late_timeout = *timeout;
  }
  return {};
}

std::string read_heap(const RawOptions& raw, DumpArguments& dump) {
  if (dump.heap && !dump.async) return "--heap is for async methods: add --async";
  if (dump.async && dump.no_stop) return "--async reads objects of one instant: without --no-stop";
  return read_heap_limit(raw.heap_limit, dump.heap, dump.heap_limit);
}

std::string read_looks(const RawOptions& raw, DumpArguments& dump) {
  if (dump.merge && dump.tree) return "--merge and --tree: one of them";
  if (dump.json && dump.tree) return "--tree is text: without --json";
  if (dump.options.arguments && (dump.merge || dump.tree))
    return "--arguments are those of single threads: without --merge and --tree";
  if (dump.options.arguments && dump.no_stop) return "--arguments needs the stop: without --no-stop";
  if (dump.options.data && !dump.options.arguments) return "--data is for --arguments: contents of strings, too";
  if (raw.color.empty() || raw.color == "auto") return {};
  if (raw.color != "always" && raw.color != "never")
    return fmt::format("--color: '{}' is none of auto, always, never", raw.color);
  dump.color = raw.color == "always" ? ColorMode::always : ColorMode::never;
  return {};
}

/// With PID required, `-t 12 PID` leaves the last number to PID; without, PID may come from --pid.
Invocation parse_dump_with(CLI::App& app, std::vector<std::string> arguments, bool pid_must_be_positional) {
  RawOptions raw;
  Invocation result{Action::dump, {}, {}};
  const HelpPage page = dump_page();
  OptionSet options(app, page);
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help);
  declare_dump(options, raw, result.dump, pid_must_be_positional);
  app.parse(std::move(arguments));
  if (raw.help) return help_of(app, page);
  read_lines(raw, result.dump);
  for (auto* read : {read_core, read_pid, read_provider, read_threads, read_limits, read_heap, read_looks})
    if (std::string text = read(raw, result.dump); !text.empty()) return wrong(std::move(text));
  return result;
}

bool names_a_core(const std::string& argument) { return argument.starts_with("--core") || argument.starts_with("-c"); }

Invocation parse_dump(std::vector<std::string> arguments) {
  const bool needs_no_pid = std::any_of(arguments.begin(), arguments.end(), names_a_core);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
  CLI::App app("", "mixstack dump"), without_pid("", "mixstack dump");
  try {
    try {
      return parse_dump_with(app, arguments, !needs_no_pid);
    } catch (const CLI::RequiredError&) {
      return parse_dump_with(without_pid, std::move(arguments), false);
    }
  } catch (const CLI::Error& error) {
    return refused(error, app);
  }
}

Invocation parse_ps(std::vector<std::string> arguments) {
  PsArguments ps;
  Invocation result = parse_small(
      std::move(arguments), {Action::ps, {}, {}}, "mixstack ps",
      [&](OptionSet& options) {
        options.value("--name", ps.name);
        options.flag("--json", ps.json);
        options.flag("--wide", ps.wide);
        options.flag("--quick", ps.quick);
      },
      ps_page());
  result.ps = ps;
  return result;
}

Invocation parse_doctor(std::vector<std::string> arguments) {
  DoctorArguments doctor;
  std::string pid;
  Invocation result = parse_small(
      std::move(arguments), {Action::doctor, {}, {}}, "mixstack doctor",
      [&](OptionSet& options) {
        options.positional("PID", pid);
        options.flag("--json", doctor.json);
      },
      doctor_page());
  if (result.action == Action::doctor && !pid.empty()) {
    const auto value = whole_number(pid, INT32_MAX);
    if (!value || *value == 0) return wrong(fmt::format("'{}' is not a pid", pid));
    doctor.pid = static_cast<std::uint32_t>(*value);
  }
  result.doctor = doctor;
  return result;
}

Invocation parse_pack(std::vector<std::string> arguments) {
  PackArguments pack;
  std::string what;
  bool only_sysroot = false;
  Invocation result = parse_small(
      std::move(arguments), {Action::pack, {}, {}}, "mixstack pack",
      [&](OptionSet& options) {
        options.positional("PID", what);
        options.value("--out", pack.out);
        options.value("--core", pack.core.path);
        options.value("--sysroot", pack.core.sysroots)->allow_extra_args(false);
        options.value("--exe", pack.core.executable);
        options.flag("--only-sysroot", only_sysroot);
        options.flag("--full", pack.full);
        options.flag("--with-environment", pack.with_environment);
        options.flag("--with-command-line", pack.with_command_line);
        options.flag("--force", pack.force);
      },
      pack_page());
  if (result.action != Action::pack) return result;
  if (what.empty() == pack.core.path.empty()) return wrong("pack: say what, and one thing: a pid, or a core's path");
  if (const auto pid = whole_number(what, INT32_MAX); pid && *pid != 0) {
    pack.pid = static_cast<std::uint32_t>(*pid);
  } else if (pack.core.path.empty()) {
    pack.core.path = what;
  }
  if (pack.core.path.empty() && (!pack.core.sysroots.empty() || !pack.core.executable.empty() || only_sysroot))
    return wrong("--sysroot, --exe and --only-sysroot are for cores");
  if (pack.out.empty()) return wrong("pack: say where to: -o FILE, or -o - for standard output");
  pack.core.use_own_files = !only_sysroot;
  result.pack = std::move(pack);
  return result;
}

/// Texts of the options of `agent` from the parser.
struct RawAgentOptions {
  std::string pid, hz, wall, wall_threads, format, duration, timeout;
  bool help = false;
};

void declare_agent(OptionSet& options, RawAgentOptions& raw, AgentArguments& agent) {
  using Verb = AgentArguments::Verb;
  options.positional("PID", raw.pid);
  if (agent.verb == Verb::status) options.flag("--json", agent.json);
  if (agent.verb != Verb::attach && agent.verb != Verb::record) return;
  options.value("--hz", raw.hz);
  options.value("--wall", raw.wall);
  options.value("--wall-threads", raw.wall_threads);
  options.value("--out", agent.out);
  options.value("--format", raw.format)->type_name("collapsed|json");
  options.flag("--native-only", agent.native_only);
  options.value("--library", agent.library);
  options.value("--timeout", raw.timeout);
  if (agent.verb == Verb::record) options.value("--duration", raw.duration);
}

std::string read_agent_numbers(const RawAgentOptions& raw, AgentArguments& agent) {
  constexpr std::uint64_t kMostHertz = 10'000, kMostWall = 1000, kMostThreads = 1024;
  if (raw.pid.empty()) return "which process? Write its pid";
  const auto pid = whole_number(raw.pid, INT32_MAX);
  if (!pid || *pid == 0) return fmt::format("'{}' is not a pid", raw.pid);
  agent.pid = static_cast<std::uint32_t>(*pid);
  for (const std::string& text : {read_rate("--hz", raw.hz, kMostHertz, agent.cpu_hertz),
                                  read_rate("--wall", raw.wall, kMostWall, agent.wall_hertz),
                                  read_rate("--wall-threads", raw.wall_threads, kMostThreads, agent.wall_threads),
                                  read_seconds("--duration", raw.duration, agent.duration),
                                  read_seconds("--timeout", raw.timeout, agent.timeout)})
    if (!text.empty()) return text;
  return {};
}

/// Checks combinations of options, and sets defaults.
std::string complete_agent(const RawAgentOptions& raw, AgentArguments& agent) {
  const bool records = agent.verb == AgentArguments::Verb::record;
  if (!raw.format.empty() && raw.format != "collapsed" && raw.format != "json")
    return fmt::format("--format: '{}' is none of collapsed, json", raw.format);
  agent.json = agent.json || raw.format == "json";
  for (const std::string* text : {&agent.out, &agent.library})
    if (text->find('\n') != std::string::npos || text->size() > 1024) return "a path is too long, or has a line break";
  constexpr std::uint32_t kUsualHertz = 100;
  const bool has_rate = !raw.hz.empty() || !raw.wall.empty();
  if (!has_rate && (records || !agent.out.empty())) agent.cpu_hertz = kUsualHertz;
  if (has_rate && agent.cpu_hertz == 0 && agent.wall_hertz == 0 && (records || !agent.out.empty()))
    return "--hz 0 and no --wall: there is nothing to sample";
  return {};
}

Invocation parse_agent(std::vector<std::string> arguments) {
  using Verb = AgentArguments::Verb;
  constexpr std::string_view kVerbs = "attach, status, stop or record";
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb == "-h" || verb == "--help" || verb == "help") return {Action::print, {}, help::help_text(agent_page())};
  Invocation result{Action::agent, {}, {}};
  AgentArguments& agent = result.agent;
  if (verb == "attach") {
    agent.verb = Verb::attach;
  } else if (verb == "stop") {
    agent.verb = Verb::stop;
  } else if (verb == "record") {
    agent.verb = Verb::record;
  } else if (verb != "status") {
    return wrong(fmt::format("agent: say what to do: {}", kVerbs));
  }
  arguments.erase(arguments.begin());
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
  CLI::App app("", "mixstack agent");
  RawAgentOptions raw;
  const HelpPage page = agent_page();
  OptionSet options(app, page);
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help);
  declare_agent(options, raw, agent);
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Error& error) {
    return refused(error, app);
  }
  if (raw.help) return help_of(app, page);
  for (auto* read : {read_agent_numbers, complete_agent})
    if (std::string text = read(raw, agent); !text.empty()) return wrong(std::move(text));
  return result;
}

Invocation parse_completions(std::vector<std::string> arguments) {
  std::string format;
  Invocation result = parse_small(
      std::move(arguments), {Action::print, {}, {}}, "mixstack completions",
      [&](OptionSet& options) { options.positional("SHELL", format)->type_name("bash|zsh|fish|man"); },
      completions_page());
  if (result.action != Action::print || !result.text.empty()) return result;
  if (format == "bash") {
    result.text = help::bash_completions(command_table());
  } else if (format == "zsh") {
    result.text = help::zsh_completions(command_table());
  } else if (format == "fish") {
    result.text = help::fish_completions(command_table());
  } else if (format == "man") {
    result.text = help::man_page(command_table());
  } else {
    return wrong(format.empty() ? "for which shell? bash, zsh or fish; man: the manual page"
                                : fmt::format("'{}' is none of bash, zsh, fish, man", format));
  }
  return result;
}

/// Takes an argument that ends in .mxr for a recording instead of a PID.
std::string read_recording_name(RawOptions& raw, SymbolsArguments& symbols) {
  if (!raw.pid.ends_with(".mxr")) return {};
  symbols.recording = std::exchange(raw.pid, "");
  const bool has_other = !raw.pid_option.empty() || !symbols.of.core.path.empty();
  return has_other ? "a recording, a pid and --core: one of them" : "";
}

Invocation parse_symbols(std::vector<std::string> arguments) {
  using Verb = SymbolsArguments::Verb;
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb == "-h" || verb == "--help" || verb == "help") return {Action::print, {}, help::help_text(symbols_page())};
  if (verb != "status" && verb != "fetch")
    return wrong(fmt::format("symbols: say what to do: status or fetch{}", nearest(verb, {"status", "fetch"})));
  arguments.erase(arguments.begin());
  SymbolsArguments symbols;
  symbols.verb = verb == "fetch" ? Verb::fetch : Verb::status;
  RawOptions raw;
  std::string timeout;
  Invocation result = parse_small(
      std::move(arguments), {Action::symbols, {}, {}}, "mixstack symbols",
      [&](OptionSet& options) {
        options.positional("PID", raw.pid);
        options.value("--pid", raw.pid_option);
        options.value("--core", symbols.of.core.path);
        options.value("--sysroot", symbols.of.core.sysroots)->allow_extra_args(false);
        options.value("--exe", symbols.of.core.executable);
        options.flag("--only-sysroot", raw.only_sysroot);
        options.value("--symbol-path", symbols.of.symbol_path);
        options.flag("--all", symbols.all);
        options.flag("--json", symbols.json);
        if (symbols.verb == Verb::fetch) options.value("--timeout", timeout);
      },
      symbols_page());
  if (result.action != Action::symbols) return result;
  if (std::string text = read_recording_name(raw, symbols); !text.empty()) return wrong(text);
  for (const std::string& text :
       {read_core(raw, symbols.of), symbols.recording.empty() ? read_pid(raw, symbols.of) : std::string(),
        read_seconds("--timeout", timeout, symbols.timeout)})
    if (!text.empty()) return wrong(text);
  result.symbols = std::move(symbols);
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

/// Nothing: `first` is no command.
std::optional<Invocation> parse_command(const std::string& first, const std::vector<std::string>& rest) {
  if (first == "dump") return parse_dump(rest);
  if (first == "why") return parse_why(rest);
  if (first == "memory") return parse_memory(rest);
  if (first == "record") return parse_record(rest);
  if (first == "top") return parse_top(rest);
  if (first == "convert") return parse_convert(rest);
  if (first == "diff") return parse_diff(rest);
  if (first == "view") return parse_view(rest);
  if (first == "agent") return parse_agent(rest);
  if (first == "ps") return parse_ps(rest);
  if (first == "doctor") return parse_doctor(rest);
  if (first == "symbols") return parse_symbols(rest);
  if (first == "pack") return parse_pack(rest);
  if (first == "completions") return parse_completions(rest);
  return std::nullopt;
}

/// `--help --json`, in any order, before what a program to start is given.
bool wants_help_as_json(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto has = [&](std::string_view a, std::string_view b) {
    return std::any_of(arguments.begin(), end, [=](const std::string& word) { return word == a || word == b; });
  };
  return has("-h", "--help") && has("-j", "--json");
}

}  // namespace

std::vector<std::string> command_names() {
  return {"dump",  "why", "memory", "record",  "top",  "convert",     "diff", "view",
          "agent", "ps",  "doctor", "symbols", "pack", "completions", "help"};
}

Invocation parse_arguments(std::vector<std::string> arguments) {
  if (arguments.empty()) return wrong("say what to do: mixstack dump PID");
  const std::string first = arguments.front();
  if (wants_help_as_json(arguments)) return {Action::print, {}, help::help_json(command_table(), first)};
  if (first == "--help" || first == "-h" || first == "help") return {Action::print, {}, help::help_text(main_page())};
  if (first == "--version" || first == "-V") return {Action::print, {}, version_text()};
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (auto invocation = parse_command(first, rest)) {
    if (invocation->action == Action::usage_error) invocation->command = first;
    return std::move(*invocation);
  }
  if (whole_number(first, INT32_MAX) || first.starts_with('-')) return parse_without_command(std::move(arguments));
  return wrong(fmt::format("'{}' is no command of mixstack{}", first, nearest(first, command_names())));
}

}  // namespace mixstack::cli
