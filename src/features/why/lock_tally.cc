// Input: dumps with waits, some tenths of a second apart. Output: causes of kind `contended`.
// Algorithm: (1) each look's waits for locks are grouped by object; (2) a group joins the lock of earlier looks that it
// is; (3) a lock is contended where a thread waited for it at most of the looks, one or more on average, and where it
// changes hands or several wait. The mean wait is the time of all waits by the number of waits, which the runtime
// counts for monitors alone.
// Bounds: kMostLocks locks; linear in threads.
#include "features/why/lock_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "features/why/contention.h"
#include "features/why/health.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::why {
namespace {

constexpr std::size_t kMostLocks = 256;

bool is_of_owner(const ThreadWait& wait) {
  return is_lock(wait) && wait.object.address != 0 && (wait.kind != WaitKind::wait_handle || !wait.owners.empty());
}

bool share_one(const std::set<ThreadId>& a, const std::set<ThreadId>& b) {
  return std::any_of(a.begin(), a.end(), [&](ThreadId tid) { return b.contains(tid); });
}

std::string most_of(const std::map<std::string, std::uint32_t>& words) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto at = std::max_element(words.begin(), words.end(), less);
  return at == words.end() ? std::string() : at->first;
}

/// "is in Shop.Fetch() in Shop.cs:7, where it waits for time to pass".
std::string doing_words(const ProcessDump& dump, const ThreadDump& owner) {
  const std::string place = report::place_words(dump, owner), wait = report::wait_words(dump, owner);
  const std::string doing = !wait.empty() ? wait : owner.kernel_state == 'R' ? "runs" : std::string();
  if (place.empty()) return doing;
  return doing.empty() ? "is at " + place : doing + " at " + place;
}

}  // namespace

struct LockTally::Seen {
  WaitKind kind = WaitKind::none;
  WaitedObject object;
  std::vector<const ThreadDump*> waiters;
  std::set<ThreadId> waiter_ids, owner_ids;
};

LockTally::Lock& LockTally::lock_of(const Seen& seen) {
  const auto is_at = [&](const Lock& l) { return l.kind == seen.kind && l.object.address == seen.object.address; };
  if (const auto at = std::find_if(locks_.begin(), locks_.end(), is_at); at != locks_.end()) return *at;
  const auto is_moved = [&](const Lock& l) {
    return l.kind == seen.kind && l.object.type == seen.object.type &&
           (share_one(l.waiters, seen.waiter_ids) || share_one(l.waiters, seen.owner_ids) ||
            share_one(l.owners, seen.waiter_ids));
  };
  if (const auto at = std::find_if(locks_.begin(), locks_.end(), is_moved); at != locks_.end()) return *at;
  return locks_.emplace_back();
}

void LockTally::note_clock(Lock& lock, const ThreadDump& thread, std::chrono::steady_clock::time_point at) {
  constexpr std::chrono::microseconds kByOurStop{300};
  if (!thread.facts.cpu) return;
  const auto [clock, is_new] = lock.clocks.try_emplace(thread.tid, Clock{*thread.facts.cpu, at});
  const bool has_run = *thread.facts.cpu > clock->second.cpu + kByOurStop;
  lock.turns = lock.turns || has_run;
  if (has_run) clock->second.since = at;
  clock->second.cpu = *thread.facts.cpu;
  longest_ = std::max(longest_, std::chrono::duration_cast<std::chrono::milliseconds>(at - clock->second.since));
}

void LockTally::note(Lock& lock, const Seen& seen, const ProcessDump& dump, std::chrono::steady_clock::time_point at) {
  lock.turns = lock.turns || (lock.seen != 0 && lock.last_waiters != seen.waiter_ids);
  lock.kind = seen.kind;
  lock.object = seen.object;
  lock.last_waiters = seen.waiter_ids;
  lock.waiters.insert(seen.waiter_ids.begin(), seen.waiter_ids.end());
  lock.turns = lock.turns || (!lock.owners.empty() && !share_one(lock.owners, seen.owner_ids));
  lock.owners.insert(seen.owner_ids.begin(), seen.owner_ids.end());
  lock.seen++;
  lock.waits += seen.waiters.size();
  lock.most = std::max(lock.most, static_cast<std::uint32_t>(seen.waiters.size()));
  for (const ThreadDump* t : seen.waiters) {
    if (t->wait->kind == WaitKind::reader_writer_lock && !t->wait->is_reading) lock.writers++;
    if (t->wait->proof == Proof::likely) lock.likely++;
    if (const std::string place = report::place_words(dump, *t); !place.empty()) lock.places[place]++;
    note_clock(lock, *t, at);
  }
  // An owner that has come back to the lock meanwhile, and waits for it, says nothing of what it does under it.
  const auto waits_for_it = [&seen](const ThreadDump& t) {
    return t.wait && t.wait->kind == seen.kind && t.wait->object.address == seen.object.address;
  };
  for (const ThreadId tid : seen.owner_ids)
    if (const ThreadDump* owner = report::find_thread(dump, tid); owner != nullptr && !waits_for_it(*owner))
      if (const std::string doing = doing_words(dump, *owner); !doing.empty()) lock.owner_places[doing]++;
}

void LockTally::add(const ProcessDump& dump, std::chrono::steady_clock::time_point at) {
  looks_++;
  longest_ = {};
  std::map<std::pair<WaitKind, Address>, Seen> seen;
  for (const ThreadDump& t : dump.threads) {
    if (!t.wait || !is_of_owner(*t.wait)) continue;
    Seen& s = seen[{t.wait->kind, t.wait->object.address}];
    if (s.waiters.empty()) {
      s.kind = t.wait->kind;
      s.object = t.wait->object;
    }
    s.waiters.push_back(&t);
    s.waiter_ids.insert(t.tid);
    s.owner_ids.insert(t.wait->owners.begin(), t.wait->owners.end());
  }
  for (const auto& [key, s] : seen) {
    if (locks_.size() == kMostLocks) break;
    note(lock_of(s), s, dump, at);
  }
}

bool LockTally::is_contended(const Lock& lock) const {
  // A thread that waits alone, for a lock that does not change hands, waits for its owner's work to end.
  return looks_ >= kLeastLooks && lock.waits >= looks_ && lock.seen * 5 >= looks_ * 3 && (lock.turns || lock.most > 1);
}

SlowCause LockTally::cause_of(const Lock& lock, const Counters& before, const Counters& after,
                              const ProcessDump& dump) const {
  SlowCause cause;
  cause.kind = SlowKind::contended;
  // A thread that just came or went is likely to wait, for what the proved ones wait for, too.
  cause.is_certain = std::uint64_t{lock.likely} * 10 <= lock.waits;
  std::set<ThreadId> all = lock.waiters;
  all.insert(lock.owners.begin(), lock.owners.end());
  const double waiting = static_cast<double>(lock.waits) / looks_;
  cause.share = std::min(waiting / static_cast<double>(std::max<std::size_t>(all.size(), 1)), 1.0);
  ThreadDump any;
  ThreadWait& wait = any.wait.emplace();
  wait.kind = lock.kind;
  wait.proof = cause.is_certain ? Proof::proved : Proof::likely;
  wait.object = lock.object;
  wait.object.detail.clear();  // of one moment
  std::string words = report::wait_words(dump, any);
  if (constexpr std::string_view kOfOne = "waits "; words.starts_with(kOfOne)) words.erase(0, kOfOne.size());
  const bool are_writers = lock.writers != 0 && lock.writers == lock.waits;
  const auto count = static_cast<std::uint64_t>(std::lround(waiting));
  cause.what =
      fmt::format("{} of {} {} {}{}{}", count, report::counted(all.size(), "thread"), count == 1 ? "waits" : "wait",
                  words, are_writers ? " to write" : "", lock.seen == looks_ ? " at any time" : " most of the time");
  cause.facts = {{"waiting", waiting},
                 {"threads", static_cast<double>(all.size())},
                 {"looks", static_cast<double>(looks_)},
                 {"looks_with_waiters", static_cast<double>(lock.seen)}};
  const auto contentions = health_of(before, after, dump).contentions;
  if (lock.kind == WaitKind::monitor && contentions && *contentions >= 1) {
    const double wait_ms = waiting / *contentions * 1e3;
    cause.what += fmt::format(
        " ({} each)", report::duration_words(std::chrono::microseconds(static_cast<std::int64_t>(wait_ms * 1e3))));
    cause.facts.emplace_back("wait_ms", wait_ms);
  }
  cause.place = most_of(lock.places);
  cause.place_of = "waited for";
  for (const auto& [place, times] : lock.places) cause.samples += times;
  if (const auto at = lock.places.find(cause.place); at != lock.places.end()) cause.place_samples = at->second;
  if (const std::string doing = most_of(lock.owner_places); !doing.empty())
    cause.more.push_back(fmt::format("its owner{} {}", lock.turns ? ", which changes," : "", doing));
  return cause;
}

std::vector<SlowCause> LockTally::causes(const Counters& before, const Counters& after, const ProcessDump& dump) const {
  std::vector<SlowCause> causes;
  for (const Lock& lock : locks_)
    if (is_contended(lock)) causes.push_back(cause_of(lock, before, after, dump));
  std::stable_sort(causes.begin(), causes.end(),
                   [](const SlowCause& a, const SlowCause& b) { return a.share > b.share; });
  return causes;
}

}  // namespace mixstack::why
