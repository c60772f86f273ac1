// Input: counters at the first look and the last, reasons of collections, samples where there are some. Output: causes
// with numbers, without places.
// Algorithm: each cause is judged alone, and has limits below which a healthy program stays: collections pause it for
// less than a twentieth of the time, it throws fewer than 50 exceptions a second, it compiles while it starts, and its
// memory grows until the first full collection.
// Bounds: linear in threads and runtimes.
#include "features/why/runtime_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "features/why/health.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"
#include "output/report/wait_words.h"

namespace mixstack::why {
namespace {

constexpr std::size_t kOldest = 2;
constexpr double kMega = 1e6;
constexpr double kManyLarge = 50 * kMega;  // bytes a second

/// "36/s".
std::string per_second(double rate) { return report::count_words(rate) + "/s"; }
/// "12.3 MB/s".
std::string bytes_words(double bytes) { return report::amount_words(bytes) + "/s"; }

/// Processors that code of a kind had, by samples.
std::optional<double> processors_of(const Busyness* busy, BusyKind kind) {
  if (busy == nullptr || busy->samples == 0) return std::nullopt;
  return busy->processors() * static_cast<double>(busy->of(kind)) / static_cast<double>(busy->samples);
}

/// "; thread 12 "worker-3" allocates 99 %".
std::string allocator_words(const std::optional<Allocator>& most, const ProcessDump& dump) {
  if (!most || most->tid == 0 || most->share < 0.5) return {};
  return fmt::format("thread {} allocates {}", report::thread_words(dump, most->tid),
                     most->share > 0.995 ? "all of it" : report::percent_words(most->share));
}

void add_words(std::string& words, std::string_view more) {
  if (!more.empty()) words.append("; ").append(more);
}

}  // namespace

void RuntimeTally::note(const std::vector<RuntimeCounters>& runtimes) {
  const bool is_first = numbers_.size() != runtimes.size();
  if (is_first) numbers_.assign(runtimes.size(), 0);
  for (std::size_t i = 0; i < runtimes.size(); i++) {
    const std::uint64_t number = runtimes[i].last ? runtimes[i].last->number : 0;
    if (!is_first && number > numbers_[i])
      counts_[static_cast<std::size_t>(runtimes[i].last->reason)] += number - numbers_[i];
    numbers_[i] = number;
    for (const std::string& type : runtimes[i].thrown)
      if (thrown_.size() < kMostTypes || thrown_.contains(type)) thrown_[type]++;
  }
}

std::vector<std::string> RuntimeTally::thrown() const {
  std::vector<std::string> types;
  for (const auto& [type, count] : thrown_) types.push_back(type);
  std::stable_sort(types.begin(), types.end(),
                   [&](const auto& a, const auto& b) { return thrown_.at(a) > thrown_.at(b); });
  return types;
}

std::uint64_t RuntimeTally::all() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts_) sum += count;
  return sum;
}

std::optional<GcReason> RuntimeTally::most() const {
  if (all() == 0) return std::nullopt;
  return static_cast<GcReason>(std::max_element(counts_.begin(), counts_.end()) - counts_.begin());
}

std::optional<Allocator> most_allocating(const Counters& before, const Counters& after, const ProcessDump& dump) {
  std::map<std::uint64_t, AllocatedBytes> then;
  for (const RuntimeCounters& r : before.runtimes)
    for (const AllocatedBytes& t : r.threads) then[t.thread] = t;
  Allocator found;
  double most = 0;
  std::uint32_t os_id = 0;
  for (const RuntimeCounters& r : after.runtimes)
    for (const AllocatedBytes& t : r.threads) {
      const AllocatedBytes was = then.contains(t.thread) ? then[t.thread] : AllocatedBytes{};
      const double large = t.large > was.large ? static_cast<double>(t.large - was.large) : 0;
      const double bytes = large + (t.small > was.small ? static_cast<double>(t.small - was.small) : 0);
      found.bytes += bytes;
      found.large += large;
      if (bytes <= most) continue;
      most = bytes;
      os_id = t.os_id;
    }
  const double seconds = seconds_between(before, after);
  if (most <= 0 || seconds <= 0) return std::nullopt;
  const auto is_it = [&](const ThreadDump& t) { return t.ns_tid == os_id; };
  const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
  if (at != dump.threads.end()) found.tid = at->tid;
  found.share = most / found.bytes;
  found.bytes /= seconds;
  found.large /= seconds;
  return found;
}

std::optional<SlowCause> collections_cause(const RuntimeEvidence& e) {
  const Health health = health_of(e.before, e.after, e.dump);
  if (!health.collections || *health.collections * seconds_between(e.before, e.after) < 2) return std::nullopt;
  const double paused = health.pause_share.value_or(0), used = processors_of(e.busy, BusyKind::gc).value_or(0);
  // Where threads wait for processors, so do those that collect, and pauses are long for that alone.
  const double crowd = health.ready.value_or(0) > health.processors.value_or(0) ? 2 : 1;
  const bool pauses = (paused >= 0.05 * crowd && *health.collections >= 2) || paused >= 0.15 * crowd;
  const bool is_used = used >= 0.1 && e.busy->of(BusyKind::gc) * 10 >= e.busy->samples;
  const auto reason = e.tally.most();
  const auto most = most_allocating(e.before, e.after, e.dump);
  const double full = health.full_collections.value_or(0);
  // Large objects cost more than pauses: their memory is given back and made anew.
  const bool are_large =
      reason == GcReason::large_objects && full >= 2 && most && most->large >= kManyLarge && paused >= 0.01;
  if (!pauses && !is_used && !are_large) return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::collections;
  cause.is_certain = true;
  cause.share = std::clamp(std::max(paused, used), 0.0, 1.0);
  const std::string of_time = report::percent_words(pauses || paused >= used ? paused : used) +
                              (pauses || paused >= used ? " of the time" : " of a processor");
  const std::string rates =
      full > 0.7 * *health.collections ? report::count_words(full) + " full ones/s" : per_second(*health.collections);
  if (reason == GcReason::induced) {
    cause.title = "FORCED COLLECTIONS";
    cause.what = fmt::format("{}, {}, by calls of GC.Collect and its kin", rates, of_time);
  } else if (reason == GcReason::large_objects) {
    cause.what = fmt::format("{}, {}, because of large objects", rates, of_time);
    if (most) cause.what += fmt::format(": {}", bytes_words(most->large));
    add_words(cause.what, allocator_words(most, e.dump));
  } else if (reason == GcReason::low_memory || reason == GcReason::out_of_space) {
    cause.what = fmt::format("{}, {}, because memory is short", rates, of_time);
    if (e.after.kernel.memory_limit)
      cause.what += fmt::format(": {:.0f} of {:.0f} MB are used",
                                static_cast<double>(e.after.kernel.memory_used.value_or(0)) / kMega,
                                static_cast<double>(*e.after.kernel.memory_limit) / kMega);
  } else {
    cause.what = fmt::format("{}, {}", of_time, rates);
    if (most) cause.what += fmt::format(", for {}", bytes_words(most->bytes));
    add_words(cause.what, allocator_words(most, e.dump));
  }
  cause.place_of = reason == GcReason::induced ? "called" : "allocated";
  cause.facts = {{"per_second", *health.collections}, {"full_per_second", full}, {"pause_share", paused}};
  if (health.pause_ms) cause.facts.emplace_back("pause_ms", *health.pause_ms);
  if (e.busy != nullptr) cause.facts.emplace_back("processors", used);
  if (most) {
    cause.facts.emplace_back("bytes_per_second", most->bytes);
    cause.facts.emplace_back("large_bytes_per_second", most->large);
    if (most->tid != 0) cause.facts.emplace_back("thread", most->tid);
  }
  if (e.tally.all() != 0)
    cause.facts.emplace_back("induced_share",
                             static_cast<double>(e.tally.of(GcReason::induced)) / static_cast<double>(e.tally.all()));
  return cause;
}

namespace {

/// Generations whose objects die in it: those leave nothing to grow. The last collections tell.
bool survives(const RuntimeCounters& r) {
  if (r.generations.size() <= kOldest) return false;
  const auto is_kept = [&](std::size_t generation, double least) {
    const GcGeneration& g = r.generations[generation];
    return g.survived && *g.survived >= least;
  };
  // The collector notes none for generation 1 where all of it had just become so. Until the first full collection no
  // program has given anything back.
  return is_kept(0, 0.6) && (!r.generations[1].survived || is_kept(1, 0.8)) &&
         r.generations[kOldest].collections != 0 && is_kept(kOldest, 0.9);
}

/// Bytes a second that stay. Large objects are of no young generation: they stay where nearly all of them survive.
double kept_of(const RuntimeCounters& r, const Allocator& most) {
  const std::size_t large = kOldest + 1;
  const bool keeps_large =
      r.generations.size() > large && r.generations[large].survived && *r.generations[large].survived >= 0.9;
  return (most.bytes - most.large) * *r.generations[0].survived + (keeps_large ? most.large : 0);
}

/// Memory that is kept is resident: whoever has no more of that than before keeps nothing of so much.
bool stays_resident(const RuntimeEvidence& e, double kept) {
  constexpr double kMuch = 64 * kMega;
  const auto &before = e.before.kernel.rss_anon, &after = e.after.kernel.rss_anon;
  const double expected = kept * seconds_between(e.before, e.after);
  if (!before || !after || expected < kMuch) return true;
  return static_cast<double>(*after) - static_cast<double>(*before) > expected / 8;
}

/// A program that still fills its tables, on a machine that is crowded: its collections come late, and what dies soon
/// has survived the last one.
bool is_late_with_collections(const RuntimeEvidence& e) {
  constexpr std::chrono::seconds kYoung{15};
  if (e.uptime && *e.uptime >= kYoung) return false;
  const Health health = health_of(e.before, e.after, e.dump);
  return health.ready.value_or(0) > health.processors.value_or(0);
}

}  // namespace

std::optional<SlowCause> managed_growth(const RuntimeEvidence& e) {
  constexpr double kLeast = 0.2 * kMega;  // bytes a second: less is nothing within a minute
  const auto keeps = std::find_if(e.after.runtimes.begin(), e.after.runtimes.end(), survives);
  const auto most = most_allocating(e.before, e.after, e.dump);
  if (keeps == e.after.runtimes.end() || !most) return std::nullopt;
  const double grows = kept_of(*keeps, *most);
  if (grows < kLeast || !stays_resident(e, grows) || is_late_with_collections(e)) return std::nullopt;
  const std::size_t index = static_cast<std::size_t>(keeps - e.after.runtimes.begin());
  SlowCause cause;
  cause.kind = SlowKind::memory;
  const std::uint64_t full = keeps->generations[kOldest].collections;
  const bool fell = index < e.before.runtimes.size() && e.before.runtimes[index].generations.size() > kOldest &&
                    e.before.runtimes[index].generations[kOldest].size_after > keeps->generations[kOldest].size_after;
  if (fell) return std::nullopt;
  constexpr double kNearlyAll = 0.85;  // of what is allocated: else much of it may die a little later
  cause.is_certain = full >= 2 && grows >= kNearlyAll * most->bytes;
  cause.ends_itself = false;
  const double size = static_cast<double>(keeps->generations[kOldest].size_after);
  // A tenth of an hour until it has grown by itself again counts like all of the time.
  cause.share = std::clamp(
      grows * 360 / std::max({size, static_cast<double>(e.after.kernel.rss_anon.value_or(0)), kMega}), 0.05, 1.0);
  cause.what = fmt::format("{}, managed: {} of what is allocated survives", bytes_words(grows),
                           report::percent_words(grows / most->bytes));
  add_words(cause.what, allocator_words(most, e.dump));
  cause.place_of = "allocated";
  cause.facts = {{"bytes_per_second", grows},
                 {"survived_0", *keeps->generations[0].survived},
                 {"survived_1", keeps->generations[1].survived.value_or(1)},
                 {"survived_2", *keeps->generations[kOldest].survived},
                 {"full_collections", static_cast<double>(full)},
                 {"heap_bytes", size}};
  if (most->tid != 0) cause.facts.emplace_back("thread", most->tid);
  return cause;
}

namespace {

/// Types of the exceptions that threads threw last, the most frequent first. Most runtimes forget one that is caught.
std::vector<std::string> last_thrown(const ProcessDump& dump, const std::set<std::uint32_t>& throwing) {
  std::map<std::string, int> types;
  for (const ThreadDump& t : dump.threads)
    if (t.managed && !t.managed->last_exception.empty() && (throwing.empty() || throwing.contains(t.tid)))
      types[t.managed->last_exception]++;
  std::vector<std::string> list;
  list.reserve(types.size());
  for (const auto& [type, count] : types) list.push_back(type);
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return types[a] > types[b]; });
  return list;
}

}  // namespace

std::optional<SlowCause> exceptions_cause(const RuntimeEvidence& e) {
  constexpr double kCost = 20e-6;  // seconds of a processor for each, at least
  constexpr std::size_t kMostTypes = 3;
  const Health health = health_of(e.before, e.after, e.dump);
  if (!health.exceptions || *health.exceptions < kManyExceptions) return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::exceptions;
  cause.is_certain = true;
  cause.share = std::min(*health.exceptions * kCost, 1.0);
  cause.what = per_second(*health.exceptions) + ", caught at once";
  auto types = e.tally.thrown();
  if (types.empty()) types = last_thrown(e.dump, e.throwing);
  for (std::size_t i = 0; i < std::min(types.size(), kMostTypes); i++)
    cause.what += (i == 0 ? ": " : ", ") + report::escape_for_terminal(types[i]);
  cause.place_of = "thrown";
  cause.facts = {{"per_second", *health.exceptions}};
  return cause;
}

std::optional<SlowCause> compiling_cause(const RuntimeEvidence& e) {
  constexpr std::chrono::seconds kStart{60}, kFirst{5};
  const Health health = health_of(e.before, e.after, e.dump);
  if (!health.compiling || !health.methods) return std::nullopt;
  // The runtime counts time in which the compiler waited for a processor, too.
  const double used = std::min(*health.compiling, processors_of(e.busy, BusyKind::jit).value_or(*health.compiling));
  const bool starts = e.uptime && *e.uptime < kStart;
  const double all = std::max(health.processors.value_or(used), 0.01);
  // A start compiles what it needs: some hundred methods in its first seconds. A program that does little else
  // later makes its own code: few large methods of regular expressions cost as much. A start takes longer where others
  // have the processors.
  const bool makes_code =
      e.uptime && *e.uptime > kFirst && used / all > 0.5 && health.ready.value_or(0) <= health.processors.value_or(0);
  if (used < (!starts ? 0.15 : makes_code ? 0.35 : 0.5) || used / all < 0.25) return std::nullopt;
  if (*health.methods < (starts && !makes_code ? 600 : 50)) return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::compiling;
  cause.is_certain = true;
  cause.ends_itself = true;
  cause.share = std::min(used, 1.0);
  cause.what = fmt::format("{} of {:.1f} processors, {} methods/s", report::percent_words(used / all), all,
                           report::count_words(*health.methods));
  cause.place_of = "needed";
  cause.facts = {{"methods_per_second", *health.methods}, {"processors", used}};
  if (health.all_methods) cause.facts.emplace_back("methods", static_cast<double>(*health.all_methods));
  return cause;
}

std::vector<SlowCause> runtime_causes(const RuntimeEvidence& evidence) {
  std::vector<SlowCause> causes;
  auto collections = collections_cause(evidence);
  auto growth = managed_growth(evidence);
  // Objects that survive have to be moved and marked: collections are the price of growth then, and no cause of their
  // own.
  constexpr double kPriceOfGrowth = 0.3;
  if (growth && collections && !collections->title.empty()) growth.reset();
  if (growth && collections && collections->share < kPriceOfGrowth) collections.reset();
  for (auto* cause : {&collections, &growth})
    if (*cause) causes.push_back(std::move(**cause));
  if (auto cause = exceptions_cause(evidence)) causes.push_back(std::move(*cause));
  if (auto cause = compiling_cause(evidence)) causes.push_back(std::move(*cause));
  return causes;
}

void fold_page_faults(std::vector<SlowCause>& causes) {
  constexpr double kExplained = 0.5;  // of the bytes that are touched for the first time
  const auto of_kind = [&](SlowKind kind) {
    return std::find_if(causes.begin(), causes.end(), [kind](const SlowCause& c) { return c.kind == kind; });
  };
  const auto fact = [](const SlowCause& cause, std::string_view name) {
    for (const auto& [known, value] : cause.facts)
      if (known == name) return value;
    return 0.0;
  };
  const auto collections = of_kind(SlowKind::collections), faults = of_kind(SlowKind::page_faults);
  if (collections == causes.end() || faults == causes.end()) return;
  const double touched = fact(*faults, "touched_bytes_per_second");
  if (fact(*collections, "large_bytes_per_second") < touched * kExplained) return;
  collections->more.push_back("the kernel makes the memory of large objects anew: " + faults->what);
  collections->facts.emplace_back("page_faults_per_second", fact(*faults, "per_second"));
  collections->facts.emplace_back("kernel_share", fact(*faults, "kernel_share"));
  collections->share = std::max(collections->share, faults->share);
  causes.erase(faults);
}

}  // namespace mixstack::why
