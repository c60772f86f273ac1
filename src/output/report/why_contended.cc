#include "output/report/why_contended.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/words/event_wait.h"
#include "base/words/wait_kinds.h"
#include "output/report/json_fields.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_steps.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostLocks = 8, kMostOwners = 3;

/// "7 threads wait for the monitor of Shop.Gate 0x7f12, held by 12 "writer"": times and turns of single ones left out.
std::string contention_words(const ProcessDump& dump, const Contention& c) {
  ThreadDump all;
  ThreadWait& wait = all.wait.emplace();
  wait.kind = c.kind;
  wait.proof = c.proof;
  wait.object = c.object;
  wait.owners = c.owners;
  std::string words = wait_words(dump, all);
  constexpr std::string_view kOfOne = "waits ";
  if (words.starts_with(kOfOne)) words.erase(0, kOfOne.size());
  if (c.owners.empty()) words += ", and who holds it is not known";
  return fmt::format("{} of {} wait {}{}", c.waiters.size(), counted(dump.threads.size(), "thread"), words,
                     c.is_lasting ? ", at both looks" : "");
}

std::size_t threads_that_wait(std::span<const Contention> contended) {
  std::set<std::uint32_t> threads;
  for (const Contention& c : contended) threads.insert(c.waiters.begin(), c.waiters.end());
  return threads.size();
}

/// Whether the async methods that a thread waits for await what somebody must do who cannot be told from outside.
bool awaits_open_end(const ProcessDump& dump, ThreadId waiter) {
  const auto is_open = [waiter](const AsyncChain& c) {
    return c.waiter == waiter && c.runner == 0 && !c.is_queued && !c.gives_up && c.proof != Proof::likely &&
           (c.end == AsyncEnd::semaphore || c.end == AsyncEnd::promise || c.end == AsyncEnd::source);
  };
  return std::any_of(dump.runtimes.begin(), dump.runtimes.end(), [&](const RuntimeSummary& r) {
    return r.pending && std::any_of(r.pending->chains.begin(), r.pending->chains.end(), is_open);
  });
}

/// Likewise of a thread, which waits without a time.
bool has_open_end(const ProcessDump& dump, const ThreadDump& thread) {
  if (!thread.wait || !thread.wait->owners.empty() || thread.wait->timeout || thread.wait->gives_up) return false;
  switch (thread.wait->kind) {
    case WaitKind::monitor_wait:
    case WaitKind::condition:
    case WaitKind::semaphore_slim:
    case WaitKind::reset_event_slim:
    case WaitKind::countdown:
    case WaitKind::barrier:
    case WaitKind::blocking_collection:
      return true;
    case WaitKind::wait_handle:
      return is_event(*thread.wait);
    case WaitKind::task:
      return awaits_open_end(dump, thread.tid);
    default:
      return false;
  }
}

}  // namespace

OpenEnd find_open_end(const ProcessDump& dump) {
  for (const ThreadDump& t : dump.threads) {
    if (!t.wait || t.wait->timeout || t.wait->gives_up || t.wait->proof == Proof::likely) continue;
    const WaitKindFacts& facts = facts_of(t.wait->kind);
    if (facts.is_for_any || facts.is_for_an_end || facts.role != OwnerRole::holder || is_event(*t.wait)) continue;
    for (const std::uint32_t id : t.wait->owners) {
      const ThreadDump* owner = find_thread(dump, id);
      if (owner == nullptr || !has_open_end(dump, *owner)) continue;
      return {t.tid, id};
    }
  }
  return {};
}

std::string open_end_words(const ProcessDump& dump) {
  const OpenEnd found = find_open_end(dump);
  const ThreadDump* owner = found.thread == 0 ? nullptr : find_thread(dump, found.behind);
  if (owner == nullptr) return {};
  return fmt::format("thread {} waits behind {}, which {}, and who ends that is not known",
                     thread_words(dump, found.thread), thread_words(dump, found.behind), wait_words(dump, *owner));
}

std::string nothing_words(const ProcessDump& dump, std::span<const Contention> contended) {
  if (!knows_waits(dump)) {
    const bool knows_some =
        std::any_of(dump.threads.begin(), dump.threads.end(), [](const ThreadDump& t) { return t.wait.has_value(); });
    return knows_some ? "Nothing can be told of what is stuck: only some threads have a wait that is known."
                      : "Nothing can be told of what its threads wait for.";
  }
  constexpr std::string_view kNoCycle =
      "Nothing is stuck as far as can be seen: no thread waits for another in a cycle";
  if (contended.empty()) {
    const std::string open_end = open_end_words(dump);
    return fmt::format("{}, and none has held three others up for long.{}", kNoCycle,
                       open_end.empty() ? "" : " But " + open_end + ".");
  }
  return fmt::format("{}. But {} threads wait for {}.", kNoCycle, threads_that_wait(contended),
                     contended.size() == 1 ? "one lock" : fmt::format("{} locks", contended.size()));
}

void write_contended(Painter& out, const ProcessDump& dump, std::span<const Contention> contended) {
  for (std::size_t i = 0; i < std::min(contended.size(), kMostLocks); i++) {
    const Contention& c = contended[i];
    out.paint(Ink::header, "CONTENDED: " + contention_words(dump, c));
    out.plain() << '\n';
    for (std::size_t o = 0; o < std::min(c.owners.size(), kMostOwners); o++)
      if (const ThreadDump* owner = find_thread(dump, c.owners[o])) write_step(out, dump, *owner);
  }
  if (contended.size() > kMostLocks)
    out.plain() << fmt::format("... and {} (--json has all)\n", counted(contended.size() - kMostLocks, "more lock"));
  if (!contended.empty()) out.plain() << '\n';
}

void write_contended_json(Writer& out, std::span<const Contention> contended) {
  json_array(out, contended, "\n", [&](const Contention& c) {
    JsonObject json(out);
    json.word("kind", to_string(c.kind));
    json.word("proof", to_string(c.proof));
    json.hex("address", c.object.address);
    json.text_or_null("type", c.object.type);
    json_array(json.key("threads"), c.waiters, "", [&](std::uint32_t id) { out.decimal(std::uint64_t{id}); });
    json_array(json.key("owners"), c.owners, "", [&](std::uint32_t id) { out.decimal(std::uint64_t{id}); });
    json.boolean("is_lasting", c.is_lasting);
    json.close();
  });
}

}  // namespace mixstack::report
