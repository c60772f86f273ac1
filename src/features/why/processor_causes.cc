#include "features/why/processor_causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/why/counter_change.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"

namespace mixstack::why {
namespace {

constexpr double kLeastTime = 0.2;  // s
constexpr double kLeastLoss = 0.4;  // processors
constexpr double kLeastLossShare = 0.5;
constexpr double kSaturated = 0.85;  // of its processors: then there is none for a thread that is ready
constexpr std::uint64_t kLeastPeriods = 3;

/// "3 x backup (1.9 of 2 processors), sh (0.1)".
std::string others_words(const KernelEvidence& evidence, double others, double processors) {
  constexpr std::size_t kShown = 3;
  constexpr double kWorthMore = 0.05;
  const double time = seconds_of(evidence.time);
  std::string text;
  double told = 0;
  for (std::size_t i = 0; i < std::min(evidence.others.size(), kShown) && time > 0; i++) {
    const process::NamedTime& o = evidence.others[i];
    const double used = seconds_of(o.used) / time;
    if (used < kWorthMore) break;
    const std::string times = o.processes > 1 ? fmt::format("{} x ", o.processes) : std::string();
    const std::string of = text.empty() ? fmt::format(" of {:.0f} processors", processors) : std::string();
    text += fmt::format("{}{}{} ({:.1f}{})", text.empty() ? "" : ", ", times, report::escape_for_terminal(o.name), used,
                        of);
    told += used;
  }
  if (told * 2 >= others && !text.empty()) return "others: " + text;
  const std::string unseen =
      fmt::format("others that cannot be seen from here use {:.1f} of {:.0f} processors", others, processors);
  return text.empty() ? unseen : fmt::format("others: {}; {}", text, unseen);
}

std::vector<std::string> threads_that_wait(std::vector<ThreadCounters> gains) {
  constexpr std::size_t kShown = 3;
  const auto waiting = [](const ThreadCounters& t) { return t.waiting.value_or(std::chrono::nanoseconds(0)); };
  std::stable_sort(gains.begin(), gains.end(), [&](const auto& a, const auto& b) { return waiting(a) > waiting(b); });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(gains.size(), kShown); i++) {
    const double waited = seconds_of(waiting(gains[i]));
    if (waited < 0.1) break;
    lines.push_back(fmt::format("thread {} \"{}\" waited {:.2f} s for a processor, and ran {:.2f} s", gains[i].tid,
                                report::escape_for_terminal(gains[i].name), waited,
                                seconds_of(gains[i].cpu.value_or(std::chrono::nanoseconds(0)))));
  }
  return lines;
}

}  // namespace

std::optional<SlowCause> throttled_cause(const KernelEvidence& evidence) {
  if (!evidence.quota || !evidence.quota->is_felt() || evidence.quota->periods < kLeastPeriods) return std::nullopt;
  const process::QuotaUse& use = *evidence.quota;
  const process::CpuQuota& quota = use.quota;
  const double processors = static_cast<double>(quota.quota_us) / static_cast<double>(quota.period_us);
  SlowCause cause;
  cause.kind = SlowKind::throttled;
  cause.is_certain = true;
  cause.share = std::min(1.0, static_cast<double>(use.throttled) / static_cast<double>(use.periods));
  cause.what = fmt::format("its cgroup {} may use {:.3g} processors, and was stopped in {} of {} periods",
                           report::escape_for_terminal(quota.cgroup), processors, use.throttled, use.periods);
  cause.facts = {{"quota_processors", processors},
                 {"throttled_periods", static_cast<double>(use.throttled)},
                 {"periods", static_cast<double>(use.periods)},
                 {"throttled_seconds", seconds_of(use.throttled_time)}};
  cause.more = {fmt::format("it may run {:g} ms in each {:g} ms", static_cast<double>(quota.quota_us) / 1000,
                            static_cast<double>(quota.period_us) / 1000)};
  cause.change = "a larger quota of the cgroup, or less work: the processors themselves may be free";
  return cause;
}

std::optional<SlowCause> crowded_cause(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  const double time = seconds_between(before, after);
  const bool here = after.kernel.busy_there && before.kernel.busy_there;
  const auto busy_time = here ? gain(before.kernel.busy_there, after.kernel.busy_there)
                              : gain(before.kernel.machine_busy, after.kernel.machine_busy);
  if (time < kLeastTime || !busy_time || after.kernel.processors == 0) return std::nullopt;
  const auto gains = thread_gains(before.kernel, after.kernel);
  double running = 0, waiting = 0;
  for (const ThreadCounters& t : gains) {
    running += seconds_of(t.cpu.value_or(std::chrono::nanoseconds(0))) / time;
    waiting += seconds_of(t.waiting.value_or(std::chrono::nanoseconds(0))) / time;
  }
  const double processors = after.kernel.processors;
  const double busy = std::min(seconds_of(*busy_time) / time, processors);
  const double ours = evidence.time.count() > 0 ? seconds_of(evidence.own) / seconds_of(evidence.time) : 0;
  const double others = std::max(0.0, busy - running - ours);
  // Its own threads wait for each other, too: without the others it would have no more than these had.
  const double lost = std::min(waiting, others);
  const double lost_share = lost / std::max(running + lost, 1e-9);
  if (busy < kSaturated * processors || lost < kLeastLoss || lost_share < kLeastLossShare) return std::nullopt;
  const double waiting_share = waiting / (waiting + running);
  SlowCause cause;
  cause.kind = SlowKind::crowded;
  cause.is_certain = true;
  cause.share = waiting_share;
  cause.what = fmt::format("its threads wait for a processor {} of the time they could run; {}",
                           report::percent_words(waiting_share), others_words(evidence, others, processors));
  cause.facts = {{"waiting_share", waiting_share},
                 {"waiting_threads", waiting},
                 {"processors", running},
                 {"other_processors", others},
                 {"allowed_processors", processors}};
  cause.more = threads_that_wait(gains);
  cause.change = "more processors, or fewer other programs on them: each other share here is of little time";
  return cause;
}

}  // namespace mixstack::why
