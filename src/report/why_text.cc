#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "report/escape.h"
#include "report/pending_words.h"
#include "report/style.h"
#include "report/wait_words.h"
#include "report/why.h"
#include "report/why_pending.h"
#include "report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostSteps = 12;   // of one verdict that are shown
constexpr std::size_t kMostWorkers = 3;  // of a starved pool: they wait for much the same
constexpr std::size_t kMostGroups = 24;

std::string all_workers(std::size_t count) {
  return count == 1 ? "the only worker" : fmt::format("all {} workers", count);
}

std::string starved_words(const ProcessDump& dump, const Verdict& v) {
  const auto has_pool = [](const RuntimeSummary& r) { return r.pending && r.pending->pool; };
  const auto runtime = std::find_if(dump.runtimes.begin(), dump.runtimes.end(), has_pool);
  const ThreadPool pool = runtime == dump.runtimes.end() ? ThreadPool{} : *runtime->pending->pool;
  if (v.is_certain)
    return fmt::format("STARVED: {} of the thread pool {}, {} of them for work that is queued ({})",
                       all_workers(v.threads), v.threads == 1 ? "waits" : "wait", v.steps.size(),
                       counted(pool.queued, "item"));
  return fmt::format("POSSIBLY STARVED: {} of the thread pool {}, {} {} queued, none taken for {}",
                     all_workers(v.threads), v.threads == 1 ? "waits" : "wait", counted(pool.queued, "item"),
                     pool.queued == 1 ? "is" : "are",
                     duration_words(pool.since_dequeue.value_or(std::chrono::milliseconds(0))));
}

std::string headline(const ProcessDump& dump, const Verdict& v) {
  switch (v.kind) {
    case VerdictKind::deadlock: {
      std::string text = v.is_certain ? "DEADLOCK: " : "POSSIBLE DEADLOCK: ";
      text += v.steps.size() == 1 ? fmt::format("thread {} waits for itself", thread_words(dump, v.steps[0].thread))
                                  : fmt::format("{} threads wait for each other in a circle", v.steps.size());
      const std::size_t behind = v.threads > v.steps.size() ? v.threads - v.steps.size() : 0;
      if (behind != 0) text += fmt::format(", {} more behind them", behind);
      return text;
    }
    case VerdictKind::starved_pool:
      return starved_words(dump, v);
    case VerdictKind::stuck_suspension:
      return fmt::format(
          "SUSPENSION: thread {} stops the runtime's threads (for a garbage collection, mostly), and {} {} "
          "not let it begin",
          thread_words(dump, v.steps.front().thread),
          v.steps.size() == 2 ? "thread " + thread_words(dump, v.steps[1].thread)
                              : fmt::format("{} threads", v.steps.size() - 1),
          v.steps.size() == 2 ? "does" : "do");
    case VerdictKind::blocked_finalizer:
      return fmt::format("FINALIZER: the thread that runs finalizers, {}, waits",
                         thread_words(dump, v.steps.front().thread));
    case VerdictKind::chain:
      break;
  }
  return fmt::format("HELD UP: {} threads wait for thread {}", v.threads, thread_words(dump, v.steps.back().thread));
}

std::string doing(const ProcessDump& dump, const ThreadDump& thread) {
  std::string words = wait_words(dump, thread);
  if (!words.empty()) return words;
  if (thread.kernel_state == 'R') return "runs";
  return thread.facts.object.empty() ? "waits in the kernel"
                                     : "waits in the kernel: " + escape_for_terminal(thread.facts.object);
}

void write_place(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  if (const std::string place = place_words(dump, thread); !place.empty()) {
    out.plain() << "      at ";
    out.paint(Ink::user, place);
    out.plain() << '\n';
  }
  const AsyncChain* chain = chain_of(dump, thread.tid);
  if (chain == nullptr) return;
  out.plain() << "      awaits: " << chain_words(dump, *chain) << due_words(*chain) << '\n';
  write_values(out, *chain, false);
}

void write_step(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  out.plain() << "  thread " << thread_words(dump, thread.tid) << ' ' << doing(dump, thread);
  out.plain() << '\n';
  write_place(out, dump, thread);
}

void write_verdict(Painter& out, const ProcessDump& dump, const Verdict& verdict) {
  out.paint(verdict.is_certain ? Ink::header : Ink::warning, headline(dump, verdict));
  out.plain() << '\n';
  const std::size_t most = verdict.kind == VerdictKind::starved_pool ? kMostWorkers : kMostSteps;
  std::size_t shown = 0;
  for (const VerdictStep& step : verdict.steps) {
    if (shown++ == most) {
      out.plain() << fmt::format("  ... and {} more threads (--json has all)\n", verdict.steps.size() - most);
      break;
    }
    if (const ThreadDump* thread = find_thread(dump, step.thread)) write_step(out, dump, *thread);
  }
  out.plain() << '\n';
}

/// Waits with the same words, the most frequent first.
void write_waits(Painter& out, const ProcessDump& dump) {
  struct Group {
    std::size_t count = 0;
    const ThreadDump* first = nullptr;
  };
  std::map<std::string, Group> groups;
  std::size_t waiting = 0;
  for (const ThreadDump& t : dump.threads) {
    std::string words = wait_words(dump, t);
    if (words.empty()) continue;
    waiting++;
    // Threads that wait for equal chains of async methods wait for tasks of their own.
    const AsyncChain* chain = chain_of(dump, t.tid);
    if (chain != nullptr) words = t.wait->object.type + "\n" + chain_words(dump, *chain);
    Group& g = groups[words + "\n" + place_words(dump, t)];
    g.count++;
    if (g.first == nullptr) g.first = &t;
  }
  std::vector<const Group*> sorted;
  for (const auto& [key, group] : groups) sorted.push_back(&group);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  if (sorted.empty()) return;
  out.paint(Ink::header, fmt::format("{} of {} {} for something that is known:", waiting,
                                     counted(dump.threads.size(), "thread"), waiting == 1 ? "waits" : "wait"));
  out.plain() << '\n';
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostGroups); i++) {
    const ThreadDump& t = *sorted[i]->first;
    if (sorted[i]->count == 1) {
      write_step(out, dump, t);
      continue;
    }
    out.plain() << fmt::format("  {} threads, {} one of them: {}\n", sorted[i]->count, t.tid, wait_words(dump, t));
    write_place(out, dump, t);
  }
  if (sorted.size() > kMostGroups)
    out.plain() << fmt::format("  ... and {} more (--json has all)\n", sorted.size() - kMostGroups);
}

}  // namespace

bool knows_waits(const ProcessDump& dump) {
  const auto refuses = [](const Diagnosis& d) { return d.subject == kWaitsSubject; };
  return !dump.runtimes.empty() && std::none_of(dump.diagnoses.begin(), dump.diagnoses.end(), refuses);
}

std::string_view verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::deadlock:
      return "deadlock";
    case VerdictKind::starved_pool:
      return "starved_pool";
    case VerdictKind::stuck_suspension:
      return "stuck_suspension";
    case VerdictKind::blocked_finalizer:
      return "blocked_finalizer";
    case VerdictKind::chain:
      break;
  }
  return "chain";
}

void write_why_text(Writer& writer, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const ReportOptions& options) {
  Painter out(writer, options.color);
  if (verdicts.empty()) {
    out.paint(Ink::header, knows_waits(dump)
                               ? "Nothing is stuck as far as can be seen: no thread waits for another in a "
                                 "circle, and none holds several up."
                               : "Nothing can be told of what its threads wait for.");
    out.plain() << "\n\n";
  }
  for (const Verdict& v : verdicts) write_verdict(out, dump, v);
  write_waits(out, dump);
  write_pending_text(out, dump);
  if (dump.runtimes.empty())
    out.plain() << "Not known: there is no .NET runtime. Of native locks, pthread mutexes and joins are read.\n";
  for (const Diagnosis& d : dump.diagnoses)
    if (d.subject == kWaitsSubject) out.plain() << "Not known: " << escape_for_terminal(d.text) << '\n';
}

}  // namespace mixstack::report
