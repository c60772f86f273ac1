#include "features/why/memory_causes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "features/why/counter_change.h"
#include "features/why/health.h"
#include "output/report/rate_words.h"

namespace mixstack::why {
namespace {

using std::chrono::seconds;

constexpr double kLeastTime = 0.5;                         // s
constexpr double kLeastFaults = 20'000, kStorm = 100'000;  // a second
constexpr double kLeastKernel = 0.3;                       // of its processor time
constexpr double kLeastCost = 0.15;                        // processors
constexpr double kLeastGrowth = 1e6, kLeastGrown = 4e6;    // bytes a second, bytes
constexpr double kLeastGrowthTime = 0.8;                   // s
constexpr double kManyMethods = 200;                       // compiled a second: a start, or code that is new
constexpr seconds kStart{5}, kWarmUp{15}, kSure{8};

/// Whether faults come all the time, not in a burst.
bool come_steadily(const std::vector<MemoryReading>& moments) {
  if (moments.size() < 5) return true;
  const double all = static_cast<double>(moments.back().minor_faults - moments.front().minor_faults);
  const double each = all / static_cast<double>(moments.size() - 1);
  std::size_t often = 0;
  for (std::size_t i = 1; i < moments.size(); i++)
    if (static_cast<double>(moments[i].minor_faults - moments[i - 1].minor_faults) >= each / 4) often++;
  return often * 10 >= (moments.size() - 1) * 7;
}

/// Whether memory rises in most moments and never falls back by much: what is freed later is no growth.
bool rises_steadily(const std::vector<MemoryReading>& moments, double grown) {
  if (moments.size() < 5) return false;
  std::size_t rises = 0;
  double highest = 0, deepest = 0;
  for (std::size_t i = 0; i < moments.size(); i++) {
    const auto now = static_cast<double>(moments[i].anonymous);
    if (i != 0 && moments[i].anonymous > moments[i - 1].anonymous) rises++;
    deepest = std::max(deepest, highest - now);
    highest = std::max(highest, now);
  }
  const double seen = static_cast<double>(moments.back().anonymous) - static_cast<double>(moments.front().anonymous);
  return rises * 10 >= (moments.size() - 1) * 6 && deepest < grown * 0.2 && seen > grown * 0.5;
}

/// Bytes that all collectors have from the system; nothing: one of them does not tell, or has not collected yet.
std::optional<double> committed(const Counters& counters) {
  double all = 0;
  for (const RuntimeCounters& r : counters.runtimes) {
    if (!r.committed) return std::nullopt;
    all += static_cast<double>(*r.committed);
  }
  return all;
}

/// The largest share of generation 0 that survived the last collection of a runtime; 1: not known.
double survival(const Counters& counters) {
  double most = 0;
  for (const RuntimeCounters& r : counters.runtimes)
    most = std::max(most, r.generations.empty() ? 1.0 : r.generations[0].survived.value_or(1));
  return most;
}

/// At most so many bytes a second of what became resident are the collectors'; nothing: not known. Objects may lie in
/// memory that a collector had long before, and make it resident when they are made: all of them until there is a
/// collection, later those that survive.
std::optional<double> managed_growth_at_most(const Counters& before, const Counters& after, double time) {
  if (after.runtimes.empty()) return 0;
  const auto then = committed(before), now = committed(after);
  const auto grown = then && now ? std::optional(std::max(0.0, *now - *then) / time) : std::nullopt;
  const auto allocated = allocated_between(before, after, time);
  if (!allocated) return grown;
  const auto collected = gain(collections_of(before, 0), collections_of(after, 0));
  if (!collected || *collected == 0) return *allocated;
  return std::max(*allocated * survival(after), grown.value_or(0));
}

/// At least so many bytes that are resident are not the collectors': what these had when they last collected, and what
/// was allocated since, may all be.
double outside_at_least(const Counters& before, const Counters& after, double time) {
  double managed = committed(after).value_or(0), budget = 0;
  for (const RuntimeCounters& r : after.runtimes)
    budget += r.generations.empty() ? 0 : static_cast<double>(r.generations[0].budget);
  managed += std::min(allocated_between(before, after, time).value_or(0) * time, budget);
  return static_cast<double>(after.kernel.rss_anon.value_or(0)) - managed;
}

double methods_between(const Counters& before, const Counters& after) {
  double all = 0;
  for (std::size_t i = 0; i < std::min(before.runtimes.size(), after.runtimes.size()); i++)
    all += static_cast<double>(gain(before.runtimes[i].methods, after.runtimes[i].methods).value_or(0));
  return all;
}

}  // namespace

std::optional<SlowCause> page_faults_cause(const Counters& before, const Counters& after,
                                           const KernelEvidence& evidence, bool writes) {
  const double time = seconds_between(before, after);
  const auto faults = gain(before.kernel.minor_faults, after.kernel.minor_faults);
  const auto system = gain(before.kernel.system, after.kernel.system);
  const auto user = gain(before.kernel.user, after.kernel.user);
  if (time < kLeastTime || !faults || !system || !user) return std::nullopt;
  const double rate = static_cast<double>(*faults) / time;
  const double cost = seconds_of(*system) / time;
  const double share = cost / std::max(cost + seconds_of(*user) / time, 1e-9);
  if (rate < (writes ? kStorm : kLeastFaults) || cost < kLeastCost || share < kLeastKernel) return std::nullopt;
  if (!come_steadily(evidence.memory)) return std::nullopt;
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double touched = rate * page;
  const double kept =
      (static_cast<double>(after.kernel.rss.value_or(0)) - static_cast<double>(before.kernel.rss.value_or(0))) / time;
  const bool starts = evidence.uptime && *evidence.uptime < kWarmUp;
  if (starts && kept > touched * 0.5) return std::nullopt;  // it takes the memory that it is going to use
  SlowCause cause;
  cause.kind = SlowKind::page_faults;
  cause.is_certain = !writes;
  cause.share = std::min(1.0, share);
  cause.what = fmt::format("{}/s, {} of its processor time is the kernel's, which gives it memory",
                           report::count_words(rate), report::percent_words(share));
  cause.place_of = "first used";
  cause.facts = {{"per_second", rate},
                 {"kernel_share", share},
                 {"kernel_processors", cost},
                 {"touched_bytes_per_second", touched},
                 {"kept_bytes_per_second", std::max(0.0, kept)}};
  cause.more = {fmt::format("{}/s of memory are touched for the first time, and {}/s of it stay",
                            report::amount_words(touched), report::amount_words(std::max(0.0, kept)))};
  cause.change = "keep large buffers and use them again: memory given back must be made anew";
  return cause;
}

std::optional<SlowCause> native_growth_cause(const Counters& before, const Counters& after,
                                             const KernelEvidence& evidence) {
  const double time = seconds_between(before, after);
  const bool is_young = !evidence.uptime || *evidence.uptime < kStart;
  if (time < kLeastGrowthTime || is_young || before.runtimes.size() != after.runtimes.size()) return std::nullopt;
  const auto managed = managed_growth_at_most(before, after, time);
  if (!before.kernel.rss_anon || !after.kernel.rss_anon || !managed) return std::nullopt;
  const double grown = static_cast<double>(*after.kernel.rss_anon) - static_cast<double>(*before.kernel.rss_anon);
  const double rate = grown / time - *managed, outside = rate * time;
  if (rate < kLeastGrowth || outside < kLeastGrown || !rises_steadily(evidence.memory, grown)) return std::nullopt;
  if (methods_between(before, after) / time > kManyMethods) return std::nullopt;
  // Where collectors use their memory by and by, it becomes resident by and by.
  if (outside_at_least(before, after, time) < outside) return std::nullopt;
  SlowCause cause;
  cause.kind = SlowKind::memory;
  cause.is_certain = after.at - before.at >= kSure;
  cause.ends_itself = false;
  const auto heap = committed(after);
  const bool is_still = *managed < rate * 0.1;
  const std::string moves = is_still ? "still" : fmt::format("+{}/s at most", report::amount_words(*managed));
  const std::string of_heap = after.runtimes.empty() ? " of memory that no file backs"
                              : heap ? fmt::format(" outside the GC heap ({}, {})", report::amount_words(*heap), moves)
                                     : fmt::format(" outside the GC heap ({})", moves);
  cause.what = fmt::format("{}/s{}", report::amount_words(rate), of_heap);
  cause.place_of = "first used";
  cause.facts = {
      {"bytes_per_second", rate}, {"native", 1}, {"resident_bytes", static_cast<double>(*after.kernel.rss_anon)}};
  if (heap && !after.runtimes.empty()) cause.facts.emplace_back("heap_bytes", *heap);
  constexpr double kHorizon = 600, kRoom = 4e9;  // s, bytes
  double room = kRoom;
  if (after.kernel.memory_limit && after.kernel.memory_used) {
    const auto limit = static_cast<double>(*after.kernel.memory_limit);
    room = std::max(1.0, limit - static_cast<double>(*after.kernel.memory_used));
    cause.facts.emplace_back("memory_limit", limit);
    cause.more = {
        fmt::format("at this rate its limit of {} is reached in {:.0f} s", report::amount_words(limit), room / rate)};
  }
  cause.share = std::min(1.0, rate * kHorizon / room);
  cause.change = "free what native code allocates; look for handles and buffers that are never disposed of";
  return cause;
}

}  // namespace mixstack::why
