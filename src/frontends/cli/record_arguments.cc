#include "frontends/cli/record_arguments.h"

#include <fmt/core.h>

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "frontends/cli/profile_options.h"
#include "frontends/cli/sampling_options.h"

namespace mixstack::cli {
namespace {

struct RawRecord {
  RawSampling sampling;
  std::string rotate, port, push_interval, states;
  bool alloc = false;
};

void declare(OptionSet& options, RawRecord& raw, RecordArguments& record) {
  declare_sampling(options, raw.sampling, record, "auto|cpu|wall|alloc|faults");
  options.flag("--alloc", raw.alloc);
  options.value("--out", record.out);
  options.value("--format", record.format);
  options.flag("--subprocesses", record.subprocesses);
  options.flag("--threads", record.by_thread);
  options.value("--state", raw.states);
  options.flag("--no-names", record.no_names);
  options.flag("--async", record.async_callers);
  options.value("--rotate", raw.rotate);
  options.flag("--serve", record.serve);
  options.value("--port", raw.port);
  options.value("--push", record.push);
  options.value("--push-interval", raw.push_interval);
  options.value("--push-name", record.push_name);
  options.value("--push-label", record.push_labels)->allow_extra_args(false);
  options.value("--push-header-file", record.push_header_file);
  options.value("--push-spool", record.push_spool);
  options.flag("--stats", record.stats);
  options.flag("--quiet", record.quiet);
}

std::string read_pids(const RawRecord& raw, RecordArguments& record) {
  if (std::string text = read_pid_list("record", raw.sampling, record); !text.empty())
    return text + "; to start a program: mixstack record -- PROGRAM";
  const int ways = (record.pids.empty() ? 0 : 1) + (record.name.empty() ? 0 : 1) + (record.command.empty() ? 0 : 1);
  if (ways == 0)
    return "which process? mixstack record -p PID (mixstack ps lists them), -n NAME, or a program to start: mixstack "
           "record -- PROGRAM";
  return ways == 1 ? "" : "pids, --name and a program to start: one of them";
}

/// `--alloc` is `--mode alloc`.
std::string read_mode(const RawRecord& raw, RecordArguments& record) {
  if (raw.alloc && !raw.sampling.mode.empty() && record.mode != RecordMode::allocations)
    return "--alloc and --mode: one of them";
  if (raw.alloc) record.mode = RecordMode::allocations;
  if (record.mode == RecordMode::allocations && record.hertz != 0)
    return "--rate: allocations are sampled as often as their cost allows";
  if (record.mode == RecordMode::first_uses && record.hertz != 0)
    return "--rate: page faults are sampled by their number";
  return {};
}

std::string read_state(const RawRecord& raw, RecordArguments& record) {
  ProfileOptions options;
  if (std::string text = read_states(raw.states, options); !text.empty()) return text;
  record.activities = options.activities;
  record.gc_only = options.gc_only;
  record.idle = record.idle || options.idle;
  return {};
}

std::string read_rotate(const RawRecord& raw, RecordArguments& record) {
  if (auto text = read_seconds("--rotate", raw.rotate, record.rotate); !text.empty()) return text;
  if (record.rotate.count() != 0 && record.out == "-") return "--rotate: files in a row need a name: -o FILE";
  const bool is_short = record.rotate.count() != 0 && record.rotate < std::chrono::seconds(1);
  return is_short ? "--rotate: a second at least" : "";
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

/// Checks only combinations and the interval; RecordPush::make checks the other texts.
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
      [&](OptionSet& options) { declare(options, raw, record); }, record_page());
  if (result.action != Invocation::Action::record) return result;
  for (const std::string& text :
       {read_pids(raw, record), read_sampling(raw.sampling, record), read_mode(raw, record), read_state(raw, record),
        read_rotate(raw, record), read_serve(raw, record), read_push(raw, record)})
    if (!text.empty()) return wrong(text);
  result.record = std::move(record);
  return result;
}

}  // namespace mixstack::cli
