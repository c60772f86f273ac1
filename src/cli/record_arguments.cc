#include "cli/record_arguments.h"

#include <fmt/core.h>

#include "cli/help.h"
#include "cli/parsing.h"

namespace mixstack::cli {
namespace {

struct RawRecord {
  std::string mode, rate, duration, max_pause, rotate, port, push_interval;
  std::vector<std::string> pids, more;
};

void declare(CLI::App& app, RawRecord& raw, RecordArguments& record) {
  app.add_option("PID", raw.more);
  app.add_option("-p,--pid", raw.pids)->delimiter(',')->allow_extra_args(false);
  app.add_option("-n,--name", record.name);
  app.add_option("-m,--mode", raw.mode)->type_name("auto|cpu|wall");
  app.add_option("-r,-F,--rate", raw.rate);
  app.add_option("-d,--duration", raw.duration);
  app.add_option("-o,--out", record.out);
  app.add_option("-f,--format", record.format);
  app.add_flag("-s,--subprocesses", record.subprocesses);
  app.add_flag("-t,--threads", record.by_thread);
  app.add_flag("-i,--idle", record.idle);
  app.add_flag("--managed-only", record.managed_only);
  app.add_flag("--kernel", record.kernel);
  app.add_option("-I,--include", record.include)->allow_extra_args(false);
  app.add_option("-X,--exclude", record.exclude)->allow_extra_args(false);
  app.add_option("--rotate", raw.rotate);
  app.add_flag("--no-stop", record.no_stop);
  app.add_option("--max-pause", raw.max_pause);
  app.add_flag("--serve", record.serve);
  app.add_option("--port", raw.port);
  app.add_option("--push", record.push);
  app.add_option("--push-interval", raw.push_interval);
  app.add_option("--push-name", record.push_name);
  app.add_option("--push-label", record.push_labels)->allow_extra_args(false);
  app.add_option("--push-header-file", record.push_header_file);
  app.add_option("--push-spool", record.push_spool);
  app.add_flag("--stats", record.stats);
  app.add_flag("-q,--quiet", record.quiet);
}

std::string read_pids(const RawRecord& raw, RecordArguments& record) {
  std::vector<std::string> texts = raw.pids;
  texts.insert(texts.end(), raw.more.begin(), raw.more.end());
  for (const std::string& text : texts) {
    const auto pid = whole_number(text, INT32_MAX);
    if (!pid || *pid == 0)
      return fmt::format(
          "'{0}' is not a pid; by name: mixstack record -n {0}; to start a program: mixstack record -- {0}", text);
    record.pids.push_back(static_cast<std::uint32_t>(*pid));
  }
  const int ways = (record.pids.empty() ? 0 : 1) + (record.name.empty() ? 0 : 1) + (record.command.empty() ? 0 : 1);
  if (ways == 0)
    return "which process? mixstack record -p PID (mixstack ps lists them), -n NAME, or a program to start: mixstack "
           "record -- PROGRAM";
  return ways == 1 ? "" : "pids, --name and a program to start: one of them";
}

std::string read_mode(const RawRecord& raw, RecordArguments& record) {
  if (raw.mode == "cpu") {
    record.mode = RecordMode::cpu;
  } else if (raw.mode == "wall") {
    record.mode = RecordMode::wall;
  } else if (!raw.mode.empty() && raw.mode != "auto") {
    return fmt::format("--mode: '{}' is none of auto, cpu, wall", raw.mode);
  }
  constexpr std::uint64_t kMostHertz = 20'000;
  if (auto text = read_rate("--rate", raw.rate, kMostHertz, record.hertz); !text.empty()) return text;
  if (!raw.rate.empty() && record.hertz == 0) return "--rate 0: there is nothing to sample";
  if (auto text = read_seconds("--rotate", raw.rotate, record.rotate); !text.empty()) return text;
  if (record.rotate.count() != 0 && record.rotate < std::chrono::seconds(1)) return "--rotate: a second at least";
  return read_seconds("--duration", raw.duration, record.duration);
}

/// "1%", "0.5", "2.5%": a share of the time in percent.
std::string read_pause(const RawRecord& raw, RecordArguments& record) {
  if (raw.max_pause.empty()) return {};
  std::string_view text = raw.max_pause;
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  const auto whole = whole_number(text.substr(0, dot), 100);
  const std::string_view rest = dot == std::string_view::npos ? std::string_view("0") : text.substr(dot + 1);
  const auto fraction = rest.size() <= 3 ? whole_number(rest, 999) : std::nullopt;
  if (whole && fraction) {
    double scaled = static_cast<double>(*fraction);
    for (std::size_t i = 0; i < rest.size(); i++) scaled /= 10;
    record.most_held = (static_cast<double>(*whole) + scaled) / 100;
  }
  return record.most_held > 0 ? ""
                              : fmt::format("--max-pause: '{}' is not a share of time like 1% or 0.5%", raw.max_pause);
}

std::string read_serve(const RawRecord& raw, RecordArguments& record) {
  if (record.serve && record.rotate.count() != 0) return "--serve and --rotate: one of them";
  if (raw.port.empty()) return {};
  const auto port = whole_number(raw.port, UINT16_MAX);
  if (!record.serve) return "--port is for --serve";
  if (!port) return fmt::format("--port: '{}' is not a port", raw.port);
  record.port = static_cast<std::uint16_t>(*port);
  return {};
}

/// What the words say is looked at by who sends.
std::string read_push(const RawRecord& raw, RecordArguments& record) {
  const bool has_more = !raw.push_interval.empty() || !record.push_name.empty() || !record.push_labels.empty() ||
                        !record.push_header_file.empty() || !record.push_spool.empty();
  if (has_more && record.push.empty()) return "--push-...: where to? --push URL";
  if (auto text = read_seconds("--push-interval", raw.push_interval, record.push_interval); !text.empty()) return text;
  constexpr std::chrono::milliseconds kLeast = std::chrono::seconds(1), kMost = std::chrono::hours(1);
  if (!raw.push_interval.empty() && (record.push_interval < kLeast || record.push_interval > kMost))
    return "--push-interval: from a second to an hour";
  return {};
}

}  // namespace

Invocation parse_record(std::vector<std::string> arguments) {
  RecordArguments record;
  if (const auto dashes = std::find(arguments.begin(), arguments.end(), "--"); dashes != arguments.end()) {
    record.command.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
    if (record.command.empty()) return wrong("--: say which program to start: mixstack record -- PROGRAM ARGUMENTS");
  }
  RawRecord raw;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::record, {}, {}}, "mixstack record",
      [&](CLI::App& app) { declare(app, raw, record); }, record_help());
  if (result.action != Invocation::Action::record) return result;
  for (const std::string& text : {read_pids(raw, record), read_mode(raw, record), read_pause(raw, record),
                                  read_serve(raw, record), read_push(raw, record)})
    if (!text.empty()) return wrong(text);
  result.record = std::move(record);
  return result;
}

}  // namespace mixstack::cli
