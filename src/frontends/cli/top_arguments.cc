#include "frontends/cli/top_arguments.h"

#include <fmt/core.h>

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "frontends/cli/sampling_options.h"

namespace mixstack::cli {
namespace {

struct RawTop {
  RawSampling sampling;
  std::string interval, count, rows;
};

std::string read_process(const RawTop& raw, TopArguments& top) {
  if (std::string text = read_pid_list("top", raw.sampling, top.record); !text.empty()) return text;
  const std::size_t pids = top.record.pids.size();
  if (pids == 0 && top.record.name.empty())
    return "which process? mixstack top PID (mixstack ps lists them), or -n NAME";
  if (pids > 1) return "top shows one process: several are for mixstack record";
  return pids == 0 || top.record.name.empty() ? "" : "a pid and --name: one of them";
}

/// Reads a number from 1 on. Returns "" or the error for the user.
std::string read_count(const std::string& name, const std::string& text, std::uint32_t& out) {
  constexpr std::uint32_t kMost = 1'000'000;
  if (text.empty()) return {};
  const auto value = whole_number(text, kMost);
  if (!value || *value == 0) return fmt::format("{}: '{}' is not a number of 1 to {}", name, text, kMost);
  out = static_cast<std::uint32_t>(*value);
  return {};
}

/// `top` orders by time.
std::string read_mode(const TopArguments& top) {
  const bool is_of_bytes = top.record.mode == RecordMode::allocations || top.record.mode == RecordMode::first_uses;
  return is_of_bytes ? "--mode alloc and faults are for mixstack record" : "";
}

std::string read_interval(const RawTop& raw, TopArguments& top) {
  constexpr std::chrono::milliseconds kShortest(100);
  if (std::string text = read_seconds("--interval", raw.interval, top.interval); !text.empty()) return text;
  return top.interval < kShortest ? "--interval: 100ms at least" : "";
}

}  // namespace

Invocation parse_top(std::vector<std::string> arguments) {
  TopArguments top;
  RawTop raw;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::top, {}, {}}, "mixstack top",
      [&](OptionSet& options) {
        declare_sampling(options, raw.sampling, top.record, "auto|cpu|wall");
        options.value("--interval", raw.interval);
        options.value("--count", raw.count);
        options.value("--rows", raw.rows);
        options.flag("--whole", top.whole);
        options.flag("--async", top.record.async_callers);
        options.flag("--threads", top.by_thread);
      },
      top_page());
  if (result.action != Invocation::Action::top) return result;
  for (const std::string& text :
       {read_process(raw, top), read_sampling(raw.sampling, top.record), read_mode(top), read_interval(raw, top),
        read_count("--count", raw.count, top.count), read_count("--rows", raw.rows, top.rows)})
    if (!text.empty()) return wrong(text);
  result.top = std::move(top);
  return result;
}

}  // namespace mixstack::cli
