#include "features/why/pool_tally.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words/wait_kinds.h"
#include "features/why/starvation.h"
#include "output/report/rate_words.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::why {
namespace {

constexpr std::size_t kLeastLooks = 4, kMostLooks = 64;
constexpr std::chrono::milliseconds kLeastTime{400};
constexpr std::uint64_t kLeastGrown = 5;
constexpr ThreadId kIdle = 0;  // any worker that may take work

using Counts = std::map<std::string, std::uint32_t>;

Counts::const_iterator most_of(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

void PoolTally::add(const ProcessDump& dump, std::chrono::steady_clock::time_point at) {
  const auto has_pool = [](const RuntimeSummary& r) { return r.pending && r.pending->pool; };
  const auto runtime = std::find_if(dump.runtimes.begin(), dump.runtimes.end(), has_pool);
  if (runtime == dump.runtimes.end() || looks_.size() == kMostLooks) return;
  const ThreadPool& pool = *runtime->pending->pool;
  Look& look = looks_.emplace_back(Look{at, pool.queued, pool.has_more, 0, 0});
  // Workers above the pool's goal wait, too, and get nothing to do.
  look.workers = std::max(pool.busy.size(), static_cast<std::size_t>(std::max({pool.goal, pool.processing, 0})));
  const std::vector<ThreadId> blocked = blocked_workers(dump, pool);
  std::set<ThreadId> at_work(pool.busy.begin(), pool.busy.end());
  for (const ThreadId tid : blocked) at_work.erase(tid);
  if (pool.busy.size() < look.workers) at_work.insert(kIdle);
  if (looks_.size() == 1) computing_ = at_work;
  std::erase_if(computing_, [&](ThreadId tid) { return !at_work.contains(tid); });
  for (const ThreadId tid : blocked) {
    const ThreadDump* thread = report::find_thread(dump, tid);
    if (thread == nullptr) continue;
    look.blocked++;
    if (const std::string place = report::place_words(dump, *thread); !place.empty()) places_[place]++;
    if (thread->wait) waits_[std::string(facts_of(thread->wait->kind).phrase)]++;
  }
}

bool PoolTally::any() const {
  const bool is_queued = std::all_of(looks_.begin(), looks_.end(), [](const Look& l) { return l.queued != 0; });
  return !looks_.empty() && is_queued && blocked_share() >= 0.5;
}

/// One of a few workers that take turns may be between two waits at any look.
double PoolTally::blocked_share() const {
  std::size_t workers = 0, blocked = 0;
  for (const Look& l : looks_) {
    workers += l.workers;
    blocked += l.blocked;
  }
  return workers == 0 ? 0 : static_cast<double>(blocked) / static_cast<double>(workers);
}

std::optional<SlowCause> PoolTally::cause() const {
  if (looks_.size() < kLeastLooks || !any()) return std::nullopt;
  if (blocked_share() < 0.6 || (blocked_share() < 0.8 && !computing_.empty())) return std::nullopt;
  const Look &first = looks_.front(), &last = looks_.back();
  if (last.at - first.at < kLeastTime || last.queued < last.workers) return std::nullopt;
  // Queued items are counted up to a bound: there the queue grows for all that is known.
  const bool is_full = first.has_more && last.has_more;
  const std::uint64_t grown = last.queued > first.queued ? last.queued - first.queued : 0;
  if (!is_full && grown < std::max(kLeastGrown, first.queued / 20)) return std::nullopt;
  for (std::size_t i = 1; i < looks_.size(); i++)
    if (looks_[i].queued + last.workers < looks_[i - 1].queued) return std::nullopt;  // a burst that is worked off
  SlowCause cause;
  cause.kind = SlowKind::queue;
  cause.is_certain = last.at - first.at >= std::chrono::seconds(1);
  cause.ends_itself = false;
  cause.share = 1;
  const double time = std::chrono::duration<double>(last.at - first.at).count();
  const double rate = static_cast<double>(grown) / time;
  const std::string workers =
      fmt::format("{} of the thread pool {} {}",
                  last.workers == 1 ? std::string("the only worker") : fmt::format("all {} workers", last.workers),
                  last.workers == 1 ? "waits" : "wait", blocked_share() > 0.97 ? "at any time" : "most of the time");
  const std::string how_many = (last.has_more ? "more than " : "") + report::counted(last.queued, "item");
  cause.what = (is_full ? fmt::format("{} are queued, {}", how_many, workers)
                        : fmt::format("by {} items/s to {}, {}", report::count_words(rate), how_many, workers));
  cause.facts = {{"queued", static_cast<double>(last.queued)},
                 {"workers", static_cast<double>(last.workers)},
                 {"blocked", static_cast<double>(last.blocked)},
                 {"looks", static_cast<double>(looks_.size())}};
  if (!is_full) cause.facts.emplace_back("per_second", rate);
  for (const auto& [place, times] : places_) cause.samples += times;
  if (const auto place = most_of(places_); place != places_.end()) {
    cause.place = place->first;
    cause.place_samples = place->second;
    cause.place_of = "waited";
  }
  if (const auto wait = most_of(waits_); wait != waits_.end())
    cause.more.push_back(fmt::format("most of them wait for {}", wait->first));
  return cause;
}

}  // namespace mixstack::why
