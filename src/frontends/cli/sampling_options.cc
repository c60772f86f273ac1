#include "frontends/cli/sampling_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

std::string read_mode(const RawSampling& raw, RecordArguments& record) {
  if (raw.mode == "cpu") {
    record.mode = RecordMode::cpu;
  } else if (raw.mode == "wall") {
    record.mode = RecordMode::wall;
  } else if (raw.mode == "alloc") {
    record.mode = RecordMode::allocations;
  } else if (raw.mode == "faults") {
    record.mode = RecordMode::first_uses;
  } else if (!raw.mode.empty() && raw.mode != "auto") {
    return fmt::format("--mode: '{}' is none of auto, cpu, wall, alloc, faults", raw.mode);
  }
  constexpr std::uint64_t kMostHertz = 20'000;
  if (auto text = read_rate("--rate", raw.rate, kMostHertz, record.hertz, 1); !text.empty()) return text;
  return read_seconds("--duration", raw.duration, record.duration);
}

/// "1%", "0.5", "2.5%": a share of the time in percent.
std::string read_pause(const RawSampling& raw, RecordArguments& record) {
  if (raw.max_pause.empty()) return {};
  std::string_view text = raw.max_pause;
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  const auto whole = whole_number(text.substr(0, dot), 100);
  const std::string_view rest = dot == std::string_view::npos ? std::string_view("0") : text.substr(dot + 1);
  const auto fraction = rest.size() <= 3 ? whole_number(rest, 999) : std::nullopt;
  record.most_held = 0;
  if (whole && fraction) {
    double scaled = static_cast<double>(*fraction);
    for (std::size_t i = 0; i < rest.size(); i++) scaled /= 10;
    record.most_held = (static_cast<double>(*whole) + scaled) / 100;
  }
  return record.most_held > 0 ? ""
                              : fmt::format("--max-pause: '{}' is not a share of time like 1% or 0.5%", raw.max_pause);
}

/// Rejects an empty word, which would otherwise count as no option.
std::string is_there(const std::string& text) { return text.empty() ? "'' is no number" : ""; }

}  // namespace

void declare_sampling(OptionSet& options, RawSampling& raw, RecordArguments& record, const std::string& modes) {
  options.positional("PID", raw.more);
  options.value("--pid", raw.pids)->delimiter(',')->allow_extra_args(false);
  options.value("--name", record.name);
  options.value("--mode", raw.mode)->type_name(modes);
  options.value("--rate", raw.rate)->check(is_there);
  options.value("--duration", raw.duration)->check(is_there);
  options.flag("--idle", record.idle);
  options.flag("--managed-only", record.managed_only);
  options.flag("--kernel", record.kernel);
  options.value("--include", record.include)->allow_extra_args(false);
  options.value("--exclude", record.exclude)->allow_extra_args(false);
  options.flag("--no-stop", record.no_stop);
  options.value("--max-pause", raw.max_pause);
}

std::string read_pid_list(std::string_view command, const RawSampling& raw, RecordArguments& record) {
  std::vector<std::string> texts = raw.pids;
  texts.insert(texts.end(), raw.more.begin(), raw.more.end());
  for (const std::string& text : texts) {
    const auto pid = whole_number(text, INT32_MAX);
    if (!pid || *pid == 0) return fmt::format("'{1}' is not a pid; by name: mixstack {0} -n {1}", command, text);
    const auto number = static_cast<std::uint32_t>(*pid);
    if (std::find(record.pids.begin(), record.pids.end(), number) == record.pids.end()) record.pids.push_back(number);
  }
  return {};
}

std::string read_sampling(const RawSampling& raw, RecordArguments& record) {
  if (std::string text = read_mode(raw, record); !text.empty()) return text;
  return read_pause(raw, record);
}

}  // namespace mixstack::cli
