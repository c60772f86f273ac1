#include "frontends/cli/profile_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "frontends/cli/parsing.h"

namespace mixstack::cli {

std::string read_states(std::string_view text, ProfileOptions& options) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    bool is_known = word == "gc";
    options.gc_only = options.gc_only || is_known;
    for (unsigned a = 0; a <= static_cast<unsigned>(kLastActivity) && !is_known; a++) {
      const auto activity = static_cast<Activity>(a);
      is_known = word == word_of(activity);
      if (is_known) options.activities = static_cast<std::uint8_t>(options.activities | activity_bit(activity));
    }
    if (!is_known)
      return fmt::format("--state: '{}' is none of running, runnable, waiting, blocked, unknown, gc", word);
  }
  // "gc" alone selects every state, so include waiting threads.
  if (options.gc_only && options.activities == 0) options.idle = true;
  return {};
}

void declare_profile_options(OptionSet& set, RawProfileOptions& raw, ProfileOptions& options) {
  set.flag("--threads", options.by_thread);
  set.flag("--idle", options.idle);
  set.value("--state", raw.states);
  set.value("--clock", raw.clock)->type_name("auto|cpu|wall|bytes");
  set.flag("--managed-only", options.managed_only);
  set.flag("--no-kernel", raw.no_kernel);
  set.value("--include", options.include)->allow_extra_args(false);
  set.value("--exclude", options.exclude)->allow_extra_args(false);
  set.flag("--inverted", options.inverted);
}

std::string read_profile_options(const RawProfileOptions& raw, ProfileOptions& options) {
  options.kernel = !raw.no_kernel;
  if (raw.clock == "cpu") {
    options.clock = SampleClock::cpu;
  } else if (raw.clock == "wall") {
    options.clock = SampleClock::wall;
  } else if (raw.clock == "bytes") {
    options.clock = SampleClock::bytes;
  } else if (!raw.clock.empty() && raw.clock != "auto") {
    return fmt::format("--clock: '{}' is none of auto, cpu, wall, bytes", raw.clock);
  }
  return read_states(raw.states, options);
}

}  // namespace mixstack::cli
