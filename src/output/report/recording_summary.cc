#include "output/report/recording_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/words/made_names.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string losses(const RecordingAccount& account) {
  std::string text;
  const auto add = [&text](std::uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(account.lost_in_kernel, "lost in the kernel's buffers");
  add(account.lost_in_queue, "lost because walking was slower");
  add(account.lost_in_tree, "lost for want of room");
  add(account.lost_to_stops, "of threads that could not be stopped or had gone");
  add(account.skipped, account.skipped == 1 ? "round left out" : "rounds left out");
  return text;
}

/// States of threads as shares of the wall-time samples (samples of processor time are all running). Empty: no samples.
std::string activities(const Recording& recording, bool is_throttled) {
  std::array<std::uint64_t, 1 + static_cast<std::size_t>(kLastActivity)> counts{};
  std::uint64_t all = 0;
  for (const Sample& sample : recording.samples()) {
    const SampleContext& context = recording.contexts()[sample.context];
    if (context.clock != SampleClock::wall) continue;
    counts[static_cast<std::size_t>(context.activity)] += sample.count;
    all += sample.count;
  }
  constexpr std::pair<Activity, std::string_view> kWords[] = {{Activity::running, "running"},
                                                              {Activity::runnable, "ready, but without a processor"},
                                                              {Activity::waiting, "waiting"},
                                                              {Activity::blocked, "blocked in the kernel"},
                                                              {Activity::unknown, "not known"}};
  std::string text;
  for (const auto& [activity, words] : kWords) {
    const std::uint64_t count = counts[static_cast<std::size_t>(activity)];
    if (count != 0)
      text += fmt::format("{}{:.1f} % {}", text.empty() ? "  of wall time: " : ", ",
                          100.0 * static_cast<double>(count) / static_cast<double>(all), words);
  }
  if (text.empty()) return text;
  text += '\n';
  const auto count_of = [&counts](Activity activity) { return counts[static_cast<std::size_t>(activity)]; };
  // Warn only with enough samples, and if at least one thread was ready for a tenth of the time. Threads too
  // short-lived to be sampled as running are not sampled as ready either.
  constexpr std::uint64_t kFew = 50, kSecond = 1'000'000'000;
  const std::uint64_t rounds = recording.facts.duration_ns / kSecond * recording.facts.wall_hertz;
  // A thread throttled by a CPU quota is ready, too, but the machine is not busy: a note tells that instead.
  if (!is_throttled && count_of(Activity::runnable) > std::max({count_of(Activity::running), kFew, rounds / 10}))
    text +=
        "  the machine is busy: threads waited longer for a processor than they ran; '--mode cpu' shows where they use "
        "one\n";
  return text;
}

/// "  1.21 GB, 121 MB a second; ...": of a recording of bytes.
std::string made_words(const Recording& recording) {
  double bytes = 0, without = 0;
  for (const Sample& sample : recording.samples()) {
    if (recording.contexts()[sample.context].clock != SampleClock::bytes) continue;
    bytes += sample.count;
    const auto frame = recording.nodes()[sample.stack].frame;
    if (sample.stack != 0 && shown_name(recording, recording.frames()[frame].function) == kUnplaced)
      without += sample.count;
  }
  if (bytes == 0) return {};
  const double seconds = std::max(static_cast<double>(recording.facts.duration_ns) / 1e9, 1e-3);
  std::string text = fmt::format("  {}, {} a second", amount_words(bytes), amount_words(bytes / seconds));
  if (without != 0) text += fmt::format("; {:.1f} % of it without a sample", 100 * without / bytes);
  return text + "\n";
}

/// "12 (the copied part of the stack ends here), 3 (...)", most first; empty: no stack was cut.
std::string cut_reasons(const Recording& recording) {
  std::unordered_map<StopReason, std::uint64_t> counts;
  for (const Sample& sample : recording.samples()) {
    const SampleContext& context = recording.contexts()[sample.context];
    counts[context.stop] += context.clock == SampleClock::bytes ? 1 : sample.count;
  }
  counts.erase(StopReason::end_of_stack);
  std::vector<std::pair<StopReason, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  std::string text;
  for (const auto& [stop, count] : sorted)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", count, stop_words(stop));
  return text;
}

}  // namespace

std::string hottest_words(const Recording& recording) {
  constexpr std::size_t kLatest = 2000;
  const auto& samples = recording.samples();
  std::unordered_map<std::uint32_t, std::uint64_t> counts;
  std::uint32_t best = kNoIndex;
  std::uint64_t all = 0;
  for (std::size_t i = samples.size() - std::min(samples.size(), kLatest); i < samples.size(); i++) {
    const Sample& sample = samples[i];
    if (sample.stack == 0 || recording.contexts()[sample.context].activity != Activity::running) continue;
    const std::uint32_t function = recording.frames()[recording.nodes()[sample.stack].frame].function;
    const std::uint64_t count = counts[function] += sample.count;
    all += sample.count;
    if (best == kNoIndex || count > counts[best]) best = function;
  }
  if (best == kNoIndex) return {};
  return fmt::format("{:.0f} % of what runs: {}", 100.0 * static_cast<double>(counts[best]) / static_cast<double>(all),
                     escape_for_terminal(shown_name(recording, best)));
}

std::string summary_text(const Recording& recording, bool stats, bool is_throttled) {
  const RecordingFacts& facts = recording.facts;
  const double seconds = static_cast<double>(facts.duration_ns) / 1e9;
  std::string text = fmt::format("mixstack: {} of {} in {:.1f} s by {}\n", counted(facts.account.samples, "sample"),
                                 counted(recording.threads().size(), "thread"), seconds, facts.source);
  text += made_words(recording);
  text += activities(recording, is_throttled);
  if (const std::string lost = losses(facts.account); !lost.empty()) text += "  not taken: " + lost + "\n";
  if (const std::string cut = cut_reasons(recording); !cut.empty())
    text += fmt::format("  stacks whose end was not reached: {}; 'mixstack dump' may show more of them\n", cut);
  for (const std::string& note : facts.notes) text += "  " + escape_for_terminal(note) + "\n";
  if (!stats) return text;
  text += fmt::format("  own CPU: {:.2f} s, {:.2f} % of a processor; {} walked, {} distinct\n",
                      static_cast<double>(facts.own_cpu_ns) / 1e9,
                      100.0 * static_cast<double>(facts.own_cpu_ns) /
                          static_cast<double>(std::max<std::uint64_t>(facts.duration_ns, 1)),
                      counted(facts.account.walked, "stack"), recording.nodes().size());
  const HoldHistogram& holds = facts.holds;
  if (holds.holds == 0) return text + "  no thread was held\n";
  text += fmt::format("  threads were held {}, {} us each, {} us at most; each {:.2f} % of the time\n",
                      counted(holds.holds, "time"), holds.total_ns / holds.holds / 1000, holds.longest_ns / 1000,
                      100.0 * static_cast<double>(holds.total_ns) /
                          static_cast<double>(std::max<std::uint64_t>(facts.duration_ns, 1)) /
                          static_cast<double>(std::max<std::size_t>(recording.threads().size(), 1)));
  for (std::size_t i = 0; i < holds.counts.size(); i++)
    if (holds.counts[i] != 0)
      text += fmt::format("  {:>10} us and less {:>10}\n", std::uint64_t{1} << i, holds.counts[i]);
  return text;
}

std::string progress_words(const Recording& recording, std::uint64_t elapsed_ns, std::uint64_t own_cpu_ns) {
  const RecordingAccount& account = recording.facts.account;
  std::string text = fmt::format("{:.0f} s, {}, own CPU {:.1f} %", static_cast<double>(elapsed_ns) / 1e9,
                                 counted(account.samples, "sample"),
                                 100.0 * static_cast<double>(own_cpu_ns) / static_cast<double>(elapsed_ns));
  if (const std::uint64_t lost = account.lost_in_queue + account.lost_in_tree; lost != 0)
    text += fmt::format(", {} lost", lost);
  if (const std::string name = hottest_words(recording); !name.empty()) text += ", " + name;
  return text;
}

}  // namespace mixstack::report
