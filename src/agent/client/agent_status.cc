#include "agent/client/agent_status.h"

#include <fmt/format.h>

#include <chrono>

#include "output/report/escape.h"
#include "output/report/json_fields.h"
#include "output/report/words.h"

namespace mixstack::agent_client {
namespace {

using report::escape_for_terminal;

[[nodiscard]] std::string time_words(std::uint64_t ns) {
  return report::duration_words(std::chrono::nanoseconds(static_cast<std::int64_t>(ns & INT64_MAX)));
}

[[nodiscard]] std::string rate_words(const agent_link::Report& r) {
  std::string text;
  if (r.cpu_hertz != 0) text = fmt::format("{} Hz of CPU time of each thread", r.cpu_hertz);
  if (r.wall_hertz != 0) text += fmt::format("{}{} Hz of wall time", text.empty() ? "" : ", ", r.wall_hertz);
  return text;
}

[[nodiscard]] std::string sampled_words(const agent_link::Report& r) {
  std::string text = fmt::format("{}, {} of them cut, {} lost", report::counted(r.account.samples, "sample"),
                                 r.account.cut, r.account.lost);
  const auto add = [&text](std::uint64_t n, std::string_view one, std::string_view more) {
    if (n != 0) text += "; " + report::counted(n, one, more);
  };
  add(r.account.lost_on_way, "lost on the way to who records", "lost on the way to who records");
  add(r.account.postponed, "thread postponed by the budget of a tick", "threads postponed by the budget of a tick");
  add(r.account.missed, "tick missed", "ticks missed");
  add(r.untimed, "thread without a timer (ulimit -i)", "threads without a timer (ulimit -i)");
  add(r.foreign, "signal that was not ours", "signals that were not ours");
  return text;
}

}  // namespace

std::string status_text(std::uint32_t pid, const agent_link::Report& r) {
  std::string text = fmt::format("process {}, .NET {}: agent {}, loaded for {}\n", pid, escape_for_terminal(r.runtime),
                                 escape_for_terminal(r.agent), time_words(r.loaded_for));
  if (r.is_sampling) {
    text += fmt::format("  samples {} for {}\n", rate_words(r), time_words(r.sampling_for));
  } else {
    text += "  silent\n";
  }
  if (r.is_sampling || r.sampling_for != 0) {
    text += fmt::format("  {}{}\n", r.is_sampling ? "" : "before: ", sampled_words(r));
    text += fmt::format("  code: {} in {}, {} freed, {} refused, {} of precompiled code\n",
                        report::counted(r.methods, "method"), report::counted(r.pieces, "piece"), r.freed, r.refused,
                        report::counted(r.images, "image"));
  }
  if (r.is_sampling)
    text +=
        fmt::format("  takes: {} KiB for code, {} KiB for samples at most; {} with timers; {} of CPU time\n",
                    r.code_bytes >> 10, r.ring_bytes >> 10, report::counted(r.threads, "thread"), time_words(r.cpu));
  if (r.is_sampling && !r.out.empty()) text += fmt::format("  will write {}\n", escape_for_terminal(r.out));
  if (!r.is_sampling) text += fmt::format("  stays loaded: {}\n", escape_for_terminal(r.remains));
  return text;
}

std::string status_json(std::uint32_t pid, const agent_link::Report& r) {
  return report::collect([&](report::Writer& out) {
    report::JsonObject object(out);
    object.word("format", "mixstack-agent-status");
    object.number("format_version", std::uint64_t{1});
    object.number("pid", std::uint64_t{pid});
    object.text("agent", r.agent);
    object.text("runtime", r.runtime);
    object.boolean("sampling", r.is_sampling);
    object.number("cpu_hertz", std::uint64_t{r.cpu_hertz});
    object.number("wall_hertz", std::uint64_t{r.wall_hertz});
    object.text_or_null("out", r.out);
    object.number("loaded_for_ns", r.loaded_for);
    object.number("sampling_for_ns", r.sampling_for);
    object.number("samples", r.account.samples);
    object.number("cut", r.account.cut);
    object.number("lost", r.account.lost);
    object.number("lost_on_way", r.account.lost_on_way);
    object.number("threads_postponed", r.account.postponed);
    object.number("ticks_missed", r.account.missed);
    object.number("threads_timed", r.threads);
    object.number("threads_untimed", r.untimed);
    object.number("foreign_signals", r.foreign);
    object.number("methods", r.methods);
    object.number("pieces", r.pieces);
    object.number("pieces_freed", r.freed);
    object.number("pieces_refused", r.refused);
    object.number("images", r.images);
    object.number("code_bytes", r.code_bytes);
    object.number("ring_bytes", r.ring_bytes);
    object.number("cpu_ns", r.cpu);
    object.text_or_null("remains", r.remains);
    object.close();
    out << '\n';
  });
}

}  // namespace mixstack::agent_client
