// Arguments of `mixstack dump` and of `mixstack symbols`, which dumps, too.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "frontends/cli/heap_question.h"
#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

/// Words whose meaning depends on other options.
struct Words {
  std::string pid, pid_option;
  std::vector<std::string> threads, more_pids;
};

void declare_shown(CommandLine& line, DumpArguments& dump) {
  line.flag("--json", dump.json);
  line.flag("--managed-only", dump.shown.managed_only);
  line.flag("--frames", dump.options.walk.explicit_frames);
  line.flag("--registers", dump.options.walk.keep_registers);
  line.flag("--explain", dump.options.walk.explain);
  line.flag("--arguments", dump.options.arguments);
  line.flag("--data", dump.options.data);
  line.flag("--merge", dump.shown.merge);
  line.flag("--tree", dump.shown.tree);
  line.flag("--all", dump.shown.all);
  line.flag("--wide", dump.wide);
  line.flag("--no-pager", dump.no_pager);
  line.flag("--raw-names", dump.shown.raw_names);
  line.off("--no-fold", dump.shown.fold);
  line.flag("--async", dump.async);
  line.flag("--heap", dump.heap);
  declare_heap_limit(line, dump.heap_limit);
  line.flag("--no-lines", [&dump] {
    dump.native_lines = NativeLines::none;
    dump.runtime.lines = false;
  });
  line.flag("--all-lines", [&dump] {
    if (dump.runtime.lines) dump.native_lines = NativeLines::all;
  });
}

/// With PID required, `-t 12 PID` leaves the last number to PID; without, PID may come from --pid.
void declare_dump(CommandLine& line, Words& words, DumpArguments& dump, bool pid_must_be_positional) {
  constexpr NumberRange kFrames{1, UINT32_MAX};
  constexpr char kNoFrames[] = "is not a number of frames";
  line.text("PID", words.pid)->required(pid_must_be_positional);
  line.text("MORE_PIDS", words.more_pids);
  line.text("--pid", words.pid_option);
  line.text("--name", dump.name);
  line.text("--core", dump.core.path);
  line.text("--core-of", dump.stored_core);
  declare_core_files(line, dump.core);
  line.text("--thread", words.threads, "--threads")->expected(1, 1 << 20)->delimiter(',');
  declare_shown(line, dump);
  line.choice(
          "--provider", dump.runtime.provider,
          {{"cdac", ManagedProvider::descriptor}, {"dac", ManagedProvider::dac}, {"auto", ManagedProvider::automatic}})
      ->type_name("auto|cdac|dac");
  line.text("--symbol-path", dump.symbol_path);
  line.text("--dac", dump.runtime.dac_path);
  line.number("--max-frames", dump.options.walk.max_frames, kFrames, kNoFrames);
  line.number("--frame-budget", dump.options.frame_budget, kFrames, kNoFrames);
  line.flag("--no-stop", dump.no_stop);
  line.milliseconds("--stop-timeout", dump.options.stop_timeout, "20ms or 2s");
  line.milliseconds("--wait", dump.options.late_timeout, "500ms or 2s");
  line.choice("--color", dump.color,
              {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}}, "--colour");
}

std::string check_core(const Words& words, const DumpArguments& dump) {
  const bool is_core = !dump.core.path.empty() || !dump.stored_core.empty();
  if (!is_core && has_core_files(dump.core))
    return "--sysroot, --exe and --only-sysroot are for cores: add --core FILE";
  if (!is_core) return {};
  if (dump.no_stop) return "--no-stop is for processes: without a core";
  if (!dump.core.path.empty() && !dump.stored_core.empty()) return "--core and --core-of: one of them";
  if (!words.pid.empty() || !words.pid_option.empty()) return "a pid and a core: one of them";
  return {};
}

std::string read_pids(const Words& words, DumpArguments& dump) {
  if (!dump.core.path.empty() || !dump.stored_core.empty())
    return dump.name.empty() ? "" : "--name is for processes: without --core";
  if (!words.pid.empty() && !words.pid_option.empty()) return "the pid is given twice, as PID and with --pid";
  const std::string& text = words.pid.empty() ? words.pid_option : words.pid;
  if (!dump.name.empty()) return text.empty() ? "" : "a pid and --name: one of them";
  if (text.empty())
    return "which process? Write its pid: mixstack dump PID (mixstack ps lists them), or a core: mixstack dump --core "
           "FILE";
  const auto pid = id_number(text);
  if (!pid) return fmt::format("'{0}' is not a pid; by name: mixstack dump -n {0}", text);
  dump.pid = *pid;
  for (const std::string& more : words.more_pids) {
    const auto another = id_number(more);
    if (!another) return fmt::format("unexpected argument: '{}' is not a pid", more);
    dump.more_pids.push_back(*another);
  }
  if (!words.threads.empty() && !dump.more_pids.empty()) return "--thread is for one process";
  return {};
}

std::string read_threads(const Words& words, DumpArguments& dump) {
  auto& all = dump.options.threads;
  for (const std::string& text : words.threads) {
    const auto tid = id_number(text);
    if (!tid) return fmt::format("'{}' is not a thread id", text);
    all.push_back(static_cast<ThreadId>(*tid));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return {};
}

std::string check_together(const DumpArguments& dump) {
  if (!dump.runtime.dac_path.empty() && dump.runtime.provider == ManagedProvider::descriptor)
    return "--dac FILE is of no use with --provider cdac";
  if (dump.heap && !dump.async) return "--heap is for async methods: add --async";
  if (dump.async && dump.no_stop) return "--async reads objects of one instant: without --no-stop";
  if (dump.shown.merge && dump.shown.tree) return "--merge and --tree: one of them";
  if (dump.json && dump.shown.tree) return "--tree is text: without --json";
  if (dump.options.arguments && (dump.shown.merge || dump.shown.tree))
    return "--arguments are those of single threads: without --merge and --tree";
  if (dump.options.arguments && dump.no_stop) return "--arguments needs the stop: without --no-stop";
  if (dump.options.data && !dump.options.arguments) return "--data is for --arguments: contents of strings, too";
  return {};
}

bool names_a_core(const std::string& argument) { return argument.starts_with("--core") || argument.starts_with("-c"); }

/// Nothing: the line lacks a PID that was required.
std::optional<Invocation> parse_dump_with(std::vector<std::string> arguments, bool pid_must_be_positional) {
  CommandLine line(Action::dump, dump_page());
  DumpArguments& dump = line.result().dump;
  Words words;
  declare_dump(line, words, dump, pid_must_be_positional);
  Invocation result = line.read(std::move(arguments),
                                {[&] { return check_core(words, dump); }, [&] { return read_pids(words, dump); },
                                 [&] { return check_heap_limit(line, dump.heap); }, line.values(),
                                 [&] { return read_threads(words, dump); }, [&] { return check_together(dump); }});
  if (line.lacks_required()) return std::nullopt;
  return result;
}

/// Takes an argument that ends in .mxr for a recording instead of a PID.
std::string read_recording_name(Words& words, SymbolsArguments& symbols) {
  if (!words.pid.ends_with(".mxr")) return {};
  symbols.recording = std::exchange(words.pid, "");
  const bool has_other = !words.pid_option.empty() || !symbols.of.core.path.empty();
  return has_other ? "a recording, a pid and --core: one of them" : "";
}

}  // namespace

Invocation parse_dump(std::vector<std::string> words) {
  if (!std::any_of(words.begin(), words.end(), names_a_core))
    if (auto result = parse_dump_with(words, true)) return std::move(*result);
  return parse_dump_with(std::move(words), false).value_or(Invocation{});
}

Invocation parse_symbols(std::vector<std::string> arguments) {
  using Verb = SymbolsArguments::Verb;
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb == "-h" || verb == "--help" || verb == "help") return {Action::print, {}, help::help_text(symbols_page())};
  if (verb != "status" && verb != "fetch")
    return wrong(fmt::format("symbols: say what to do: status or fetch{}", nearest(verb, {"status", "fetch"})));
  arguments.erase(arguments.begin());
  CommandLine line(Action::symbols, symbols_page());
  SymbolsArguments& symbols = line.result().symbols;
  DumpArguments& of = symbols.of;
  symbols.verb = verb == "fetch" ? Verb::fetch : Verb::status;
  Words words;
  line.text("PID", words.pid);
  line.text("--pid", words.pid_option);
  line.text("--core", of.core.path);
  declare_core_files(line, of.core);
  line.text("--symbol-path", of.symbol_path);
  line.flag("--all", symbols.all);
  line.flag("--json", symbols.json);
  if (symbols.verb == Verb::fetch) line.seconds("--timeout", symbols.timeout);
  return line.read(std::move(arguments),
                   {[&] { return read_recording_name(words, symbols); }, [&] { return check_core(words, of); },
                    [&] { return symbols.recording.empty() ? read_pids(words, of) : std::string(); }, line.values()});
}

}  // namespace mixstack::cli
