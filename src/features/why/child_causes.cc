#include "features/why/child_causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/why/counter_change.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"

namespace mixstack::why {
namespace {

constexpr double kLeastTime = 0.3;                     // s
constexpr double kLeastRate = 3, kRateAlone = 10;      // children a second
constexpr double kLeastCost = 0.03, kCostAlone = 0.1;  // processors
constexpr std::uint64_t kLeastChildren = 3;

/// "/usr/bin/identify all of them", "/bin/sh 60 %, /usr/bin/identify 40 %".
std::string programs_words(const Starts& starts) {
  constexpr std::size_t kShown = 2;
  std::uint64_t all = 0;
  for (const perf::StartedProgram& p : starts.programs) all += p.count;
  if (all == 0) return "none of them has executed a program";
  std::string text;
  for (std::size_t i = 0; i < std::min(starts.programs.size(), kShown); i++) {
    const perf::StartedProgram& p = starts.programs[i];
    const double share = static_cast<double>(p.count) / static_cast<double>(all);
    text += (i == 0 ? "" : ", ") + report::escape_for_terminal(p.path) + " " +
            (p.count == all ? "all of them" : report::percent_words(share));
  }
  return text;
}

SlowCause cause_of(double cost) {
  SlowCause cause;
  cause.kind = SlowKind::children;
  cause.is_certain = true;
  cause.share = std::min(1.0, cost);
  cause.place_of = "started";
  cause.change = "do the work in the process, or keep one child and send it the work";
  return cause;
}

}  // namespace

std::optional<SlowCause> children_cause(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  const double time = seconds_between(before, after);
  if (time < kLeastTime) return std::nullopt;
  const auto used = gain(before.kernel.children, after.kernel.children);
  const double cost = used ? seconds_of(*used) / time : 0;
  const double watched = evidence.starts ? seconds_of(evidence.starts->time) : 0;
  if (watched < kLeastTime) {
    if (cost < kCostAlone) return std::nullopt;
    SlowCause cause = cause_of(cost);
    cause.what =
        fmt::format("those that ended used {}; how many it starts was not seen", report::processor_words(cost));
    cause.facts = {{"processors", cost}};
    return cause;
  }
  const double rate = static_cast<double>(evidence.starts->children) / watched;
  const bool is_dear = cost >= kLeastCost || rate >= kRateAlone;
  if (evidence.starts->children < kLeastChildren || rate < kLeastRate || !is_dear) return std::nullopt;
  SlowCause cause = cause_of(cost);
  cause.what = fmt::format("{}/s, {}, {}", report::count_words(rate), programs_words(*evidence.starts),
                           report::processor_words(cost));
  cause.facts = {{"per_second", rate}, {"processors", cost}};
  if (const auto faults = gain(before.kernel.children_faults, after.kernel.children_faults))
    cause.facts.emplace_back("page_faults_per_second", static_cast<double>(*faults) / time);
  for (std::size_t i = 2; i < std::min<std::size_t>(evidence.starts->programs.size(), 6); i++)
    cause.more.push_back(fmt::format("{} {} times", report::escape_for_terminal(evidence.starts->programs[i].path),
                                     evidence.starts->programs[i].count));
  return cause;
}

}  // namespace mixstack::why
