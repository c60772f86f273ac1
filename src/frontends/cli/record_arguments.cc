// Arguments of `mixstack record` and of `mixstack top`, which samples alike.
#include <fmt/core.h>

#include <algorithm>

#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;
using Pids = std::vector<std::string>;

/// "1%", "0.5", "2.5%": a share of the time in percent.
std::string read_pause(std::string_view text, double& most_held) {
  const std::string_view given = text;
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  const auto whole = whole_number(text.substr(0, dot), 100);
  const std::string_view rest = dot == std::string_view::npos ? std::string_view("0") : text.substr(dot + 1);
  const auto fraction = rest.size() <= 3 ? whole_number(rest, 999) : std::nullopt;
  most_held = 0;
  if (whole && fraction) {
    double scaled = static_cast<double>(*fraction);
    for (std::size_t i = 0; i < rest.size(); i++) scaled /= 10;
    most_held = (static_cast<double>(*whole) + scaled) / 100;
  }
  return most_held > 0 ? "" : fmt::format("--max-pause: '{}' is not a share of time like 1% or 0.5%", given);
}

/// Rejects an empty word, which would otherwise count as no option.
std::string is_there(const std::string& text) { return text.empty() ? "'' is no number" : ""; }

/// The processes, the kind of samples, and the selection of stacks. `modes`: words of --mode that are offered.
void declare_sampling(CommandLine& line, Pids& pids, Pids& more, RecordArguments& record, const std::string& modes) {
  constexpr NumberRange kHertz{1, 20'000};
  RecordOptions& options = record.options;
  line.text("PID", more);
  line.text("--pid", pids)->delimiter(',')->allow_extra_args(false);
  line.text("--name", record.name);
  line.choice("--mode", options.mode,
              {{"auto", RecordMode::wall},
               {"cpu", RecordMode::cpu},
               {"wall", RecordMode::wall},
               {"alloc", RecordMode::allocations},
               {"faults", RecordMode::first_uses}})
      ->type_name(modes);
  line.number("--rate", options.hertz, kHertz)->check(is_there);
  line.seconds("--duration", options.duration)->check(is_there);
  line.flag("--idle", record.shown.idle);
  line.flag("--managed-only", record.shown.managed_only);
  line.flag("--kernel", options.kernel);
  line.text("--include", record.shown.include)->allow_extra_args(false);
  line.text("--exclude", record.shown.exclude)->allow_extra_args(false);
  line.off("--no-stop", options.may_stop);
  line.value("--max-pause", [&options](const std::string& text) { return read_pause(text, options.most_held); });
}

std::string read_pid_list(std::string_view command, const Pids& pids, const Pids& more, RecordArguments& record) {
  Pids texts = pids;
  texts.insert(texts.end(), more.begin(), more.end());
  for (const std::string& text : texts) {
    const auto pid = id_number(text);
    if (!pid) return fmt::format("'{1}' is not a pid; by name: mixstack {0} -n {1}", command, text);
    if (std::find(record.pids.begin(), record.pids.end(), *pid) == record.pids.end()) record.pids.push_back(*pid);
  }
  return {};
}

std::string read_recorded(const Pids& pids, const Pids& more, RecordArguments& record) {
  if (std::string text = read_pid_list("record", pids, more, record); !text.empty())
    return text + "; to start a program: mixstack record -- PROGRAM";
  const int ways = (record.pids.empty() ? 0 : 1) + (record.name.empty() ? 0 : 1) + (record.command.empty() ? 0 : 1);
  if (ways == 0)
    return "which process? mixstack record -p PID (mixstack ps lists them), -n NAME, or a program to start: mixstack "
           "record -- PROGRAM";
  return ways == 1 ? "" : "pids, --name and a program to start: one of them";
}

std::string read_shown_process(const Pids& pids, const Pids& more, RecordArguments& record) {
  if (std::string text = read_pid_list("top", pids, more, record); !text.empty()) return text;
  if (record.pids.empty() && record.name.empty())
    return "which process? mixstack top PID (mixstack ps lists them), or -n NAME";
  if (record.pids.size() > 1) return "top shows one process: several are for mixstack record";
  return record.pids.empty() || record.name.empty() ? "" : "a pid and --name: one of them";
}

void declare_record(CommandLine& line, RecordArguments& record, bool& alloc) {
  line.flag("--alloc", alloc);
  line.text("--out", record.out);
  line.text("--format", record.format);
  line.flag("--subprocesses", record.subprocesses);
  line.flag("--threads", record.shown.by_thread);
  line.value("--state", [&record](const std::string& text) { return read_states(text, record.shown); });
  line.flag("--no-names", record.no_names);
  line.flag("--async", record.options.async_callers);
  line.seconds("--rotate", record.rotate);
  line.flag("--serve", record.serve);
  line.number("--port", record.port, {0, UINT16_MAX}, "is not a port");
  line.text("--push", record.push.url);
  line.seconds("--push-interval", record.push.interval);
  line.text("--push-name", record.push.name);
  line.text("--push-label", record.push.labels)->allow_extra_args(false);
  line.text("--push-header-file", record.push.header_file);
  line.text("--push-spool", record.push.spool);
  line.flag("--stats", record.stats);
  line.flag("--quiet", record.quiet);
}

/// `--alloc` is `--mode alloc`.
std::string read_mode(const CommandLine& line, bool alloc, RecordOptions& options) {
  if (alloc && line.has("--mode") && options.mode != RecordMode::allocations) return "--alloc and --mode: one of them";
  if (alloc) options.mode = RecordMode::allocations;
  if (options.mode == RecordMode::allocations && options.hertz != 0)
    return "--rate: allocations are sampled as often as their cost allows";
  if (options.mode == RecordMode::first_uses && options.hertz != 0)
    return "--rate: page faults are sampled by their number";
  return {};
}

std::string check_output(const RecordArguments& record) {
  const bool rotates = record.rotate.count() != 0;
  if (rotates && record.out == "-") return "--rotate: files in a row need a name: -o FILE";
  if (rotates && record.rotate < std::chrono::seconds(1)) return "--rotate: a second at least";
  return record.serve && rotates ? "--serve and --rotate: one of them" : "";
}

/// Options of a page or of a push that is not there. PieceSender::make checks the texts of a push.
std::string check_needed(const CommandLine& line, const RecordArguments& record) {
  if (line.has("--port") && !record.serve) return "--port is for --serve";
  const push::PieceSenderOptions& push = record.push;
  const bool has_more = line.has("--push-interval") || !push.name.empty() || !push.labels.empty() ||
                        !push.header_file.empty() || !push.spool.empty();
  return has_more && push.url.empty() ? "--push-...: where to? --push URL" : "";
}

std::string check_interval(const CommandLine& line, std::chrono::milliseconds interval) {
  constexpr std::chrono::milliseconds kLeast = std::chrono::seconds(1), kMost = std::chrono::hours(1);
  const bool is_wrong = line.has("--push-interval") && (interval < kLeast || interval > kMost);
  return is_wrong ? "--push-interval: from a second to an hour" : "";
}

}  // namespace

Invocation parse_record(std::vector<std::string> words) {
  CommandLine line(Action::record, record_page());
  RecordArguments& record = line.result().record;
  if (const auto dashes = std::find(words.begin(), words.end(), "--"); dashes != words.end()) {
    record.command.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    if (record.command.empty()) return wrong("--: say which program to start: mixstack record -- PROGRAM ARGUMENTS");
  }
  Pids pids, more;
  bool alloc = false;
  declare_sampling(line, pids, more, record, "auto|cpu|wall|alloc|faults");
  declare_record(line, record, alloc);
  return line.read(std::move(words),
                   {[&] { return read_recorded(pids, more, record); }, [&] { return check_needed(line, record); },
                    line.values(), [&] { return read_mode(line, alloc, record.options); },
                    [&] { return check_output(record); }, [&] { return check_interval(line, record.push.interval); }});
}

Invocation parse_top(std::vector<std::string> words) {
  constexpr NumberRange kCount{1, 1'000'000};
  CommandLine line(Action::top, top_page());
  TopArguments& top = line.result().top;
  Pids pids, more;
  declare_sampling(line, pids, more, top.record, "auto|cpu|wall");
  line.seconds("--interval", top.interval);
  line.number("--count", top.count, kCount);
  line.number("--rows", top.rows, kCount);
  line.flag("--whole", top.whole);
  line.flag("--async", top.record.options.async_callers);
  line.flag("--threads", top.by_thread);
  const auto check = [&top]() -> std::string {
    const RecordMode mode = top.record.options.mode;
    if (mode == RecordMode::allocations || mode == RecordMode::first_uses)  // `top` orders by time
      return "--mode alloc and faults are for mixstack record";
    return top.interval < std::chrono::milliseconds(100) ? "--interval: 100ms at least" : "";
  };
  return line.read(std::move(words),
                   {[&] { return read_shown_process(pids, more, top.record); }, line.values(), check});
}

}  // namespace mixstack::cli
