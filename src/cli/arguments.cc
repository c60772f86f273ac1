#include "cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/help.h"
#include "cli/version.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > limit) return std::nullopt;
  return value;
}

/// "20", "20ms" and "2s" are durations.
std::optional<std::chrono::milliseconds> duration(std::string_view text) {
  constexpr std::uint64_t kLimit = 3'600'000;
  std::uint64_t unit = 1;
  if (text.ends_with("ms")) {
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
    unit = 1000;
  }
  const auto number = whole_number(text, kLimit / unit);
  if (!number || *number == 0) return std::nullopt;
  return std::chrono::milliseconds(*number * unit);
}

/// The texts of the options as the parser fills them in, before they are checked.
struct RawOptions {
  std::string pid, pid_option, max_frames, frame_budget, stop_timeout, wait, color, provider;
  std::vector<std::string> threads;
  bool only_sysroot = false;
  bool help = false;
};

void declare_dump(CLI::App& app, RawOptions& raw, DumpArguments& dump, bool pid_must_be_positional) {
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help);
  app.add_option("PID", raw.pid)->required(pid_must_be_positional);
  app.add_option("-p,--pid", raw.pid_option);
  app.add_option("-c,--core", dump.core.path);
  app.add_option("--core-of", dump.stored_core);
  app.add_option("--sysroot", dump.core.sysroots)->allow_extra_args(false);
  app.add_option("--exe", dump.core.executable);
  app.add_flag("--only-sysroot", raw.only_sysroot);
  app.add_option("-t,--thread,--threads", raw.threads)->expected(1, 1 << 20)->delimiter(',');
  app.add_flag("-j,--json", dump.json);
  app.add_flag("--managed-only", dump.managed_only);
  app.add_flag("--frames", dump.options.walk.explicit_frames);
  app.add_flag("--registers", dump.options.walk.keep_registers);
  app.add_flag("--explain", dump.options.walk.explain);
  app.add_flag("-m,--merge", dump.merge);
  app.add_flag("--raw-names", dump.raw_names);
  app.add_flag("--no-fold", dump.no_fold);
  app.add_option("--provider", raw.provider);
  app.add_option("--dac", dump.runtime.dac_path);
  app.add_option("--max-frames", raw.max_frames);
  app.add_option("--frame-budget", raw.frame_budget);
  app.add_option("--stop-timeout", raw.stop_timeout);
  app.add_option("--wait", raw.wait);
  app.add_option("--color,--colour", raw.color);
}

Invocation wrong(std::string text) { return {Action::usage_error, {}, std::move(text)}; }

/// An empty text when all is well.
std::string read_core(const RawOptions& raw, DumpArguments& dump) {
  const bool is_core = !dump.core.path.empty() || !dump.stored_core.empty();
  if (!is_core && (!dump.core.sysroots.empty() || !dump.core.executable.empty() || raw.only_sysroot))
    return "--sysroot, --exe and --only-sysroot are for cores: add --core FILE";
  if (!is_core) return {};
  if (!dump.core.path.empty() && !dump.stored_core.empty()) return "--core and --core-of: one of them";
  if (!raw.pid.empty() || !raw.pid_option.empty()) return "a pid and a core: one of them";
  dump.core.use_own_files = !raw.only_sysroot;
  return {};
}

std::string read_pid(const RawOptions& raw, DumpArguments& dump) {
  if (!dump.core.path.empty() || !dump.stored_core.empty()) return {};
  if (!raw.pid.empty() && !raw.pid_option.empty()) return "the pid is given twice, as PID and with --pid";
  const std::string& text = raw.pid.empty() ? raw.pid_option : raw.pid;
  if (text.empty()) return "which process? Write its pid: mixstack dump PID, or a core: mixstack dump --core FILE";
  const auto pid = whole_number(text, INT32_MAX);
  if (!pid || *pid == 0) return fmt::format("'{}' is not a pid", text);
  dump.pid = static_cast<std::uint32_t>(*pid);
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

std::string read_color(const RawOptions& raw, DumpArguments& dump) {
  if (raw.color.empty() || raw.color == "auto") return {};
  if (raw.color != "always" && raw.color != "never")
    return fmt::format("--color: '{}' is none of auto, always, never", raw.color);
  dump.color = raw.color == "always" ? ColorMode::always : ColorMode::never;
  return {};
}

/// With PID required, `-t 12 PID` leaves the last number to PID; without, PID may come from --pid.
Invocation parse_dump_with(std::vector<std::string> arguments, bool pid_must_be_positional) {
  CLI::App app("", "mixstack dump");
  RawOptions raw;
  Invocation result{Action::dump, {}, {}};
  declare_dump(app, raw, result.dump, pid_must_be_positional);
  app.parse(std::move(arguments));
  if (raw.help) return {Action::print, {}, std::string(dump_help())};
  for (auto* read : {read_core, read_pid, read_provider, read_threads, read_limits, read_color})
    if (std::string text = read(raw, result.dump); !text.empty()) return wrong(std::move(text));
  return result;
}

/// CLI11's refusals in our words.
Invocation refused(const CLI::Error& error) {
  const std::string_view text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return wrong(std::string(text));
  // "The following argument was not expected: X"
  return wrong(fmt::format("unexpected argument{}", text.substr(std::min(text.find(':'), text.size()))));
}

bool names_a_core(const std::string& argument) { return argument.starts_with("--core") || argument.starts_with("-c"); }

Invocation parse_dump(std::vector<std::string> arguments) {
  const bool of_core = std::any_of(arguments.begin(), arguments.end(), names_a_core);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
  try {
    try {
      return parse_dump_with(arguments, !of_core);
    } catch (const CLI::RequiredError&) {
      return parse_dump_with(std::move(arguments), false);
    }
  } catch (const CLI::Error& error) {
    return refused(error);
  }
}

/// The texts of the options of `agent` as the parser fills them in.
struct RawAgentOptions {
  std::string pid, hz, wall, wall_threads, format, duration, timeout;
  bool help = false;
};

void declare_agent(CLI::App& app, RawAgentOptions& raw, AgentArguments& agent) {
  using Verb = AgentArguments::Verb;
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help);
  app.add_option("PID", raw.pid);
  if (agent.verb == Verb::status) app.add_flag("-j,--json", agent.json);
  if (agent.verb != Verb::attach && agent.verb != Verb::record) return;
  app.add_option("--hz", raw.hz);
  app.add_option("--wall", raw.wall);
  app.add_option("--wall-threads", raw.wall_threads);
  app.add_option("-o,--out", agent.out);
  app.add_option("--format", raw.format);
  app.add_flag("--native-only", agent.native_only);
  app.add_option("--library", agent.library);
  app.add_option("--timeout", raw.timeout);
  if (agent.verb == Verb::record) app.add_option("-d,--duration", raw.duration);
}

/// A number of 1 to `most` (0, too, where that means none). An empty text when all is well.
std::string read_rate(const std::string& name, const std::string& text, std::uint64_t most, std::uint32_t& out) {
  if (text.empty()) return {};
  const auto value = whole_number(text, most);
  if (!value) return fmt::format("{}: '{}' is not a number of 0 to {}", name, text, most);
  out = static_cast<std::uint32_t>(*value);
  return {};
}

/// A duration; a number alone is seconds.
std::string read_seconds(const std::string& name, const std::string& text, std::chrono::milliseconds& out) {
  if (text.empty()) return {};
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  const auto time = duration(is_number ? text + "s" : text);
  if (!time) return fmt::format("{}: '{}' is not a time like 10, 10s or 500ms", name, text);
  out = *time;
  return {};
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

/// What goes together, and what is assumed where nothing was said.
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
  if (verb == "-h" || verb == "--help" || verb == "help") return {Action::print, {}, std::string(agent_help())};
  Invocation result{Action::agent, {}, {}};
  AgentArguments& agent = result.agent;
  if (verb == "attach") {
    agent.verb = Verb::attach;
  } else if (verb == "stop") {
    agent.verb = Verb::stop;
  } else if (verb == "record") {
    agent.verb = Verb::record;
  } else if (verb != "status") {
    return wrong(fmt::format("mixstack agent: say what to do: {}", kVerbs));
  }
  arguments.erase(arguments.begin());
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
  CLI::App app("", "mixstack agent");
  RawAgentOptions raw;
  declare_agent(app, raw, agent);
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Error& error) {
    return refused(error);
  }
  if (raw.help) return {Action::print, {}, std::string(agent_help())};
  for (auto* read : {read_agent_numbers, complete_agent})
    if (std::string text = read(raw, agent); !text.empty()) return wrong(std::move(text));
  return result;
}

}  // namespace

Invocation parse_arguments(std::vector<std::string> arguments) {
  if (arguments.empty()) return wrong("say what to do: mixstack dump PID");
  const std::string first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") return {Action::print, {}, std::string(main_help())};
  if (first == "--version" || first == "-V") return {Action::print, {}, version_text()};
  if (first == "dump") return parse_dump({arguments.begin() + 1, arguments.end()});
  if (first == "agent") return parse_agent({arguments.begin() + 1, arguments.end()});
  return wrong(fmt::format("'{}' is no command of mixstack", first));
}

}  // namespace mixstack::cli
