// The text answer of `mixstack why`.
// Input: a dump with waits, the verdicts of judge.h, optional extras (busy, unmoved, contended). Output: lines.
// Algorithm, in the order of the answer:
//   1. Truncated core, the process's end, last words. Then causes of slowness, and busy code; after the headline if
//      waits are not known, or if little runs.
//   2. Verdicts with their steps, or the sentence that nothing is stuck, with numbers; contended locks; threads that
//   have
//      not moved.
//   3. Waits, grouped by `likeness` (object type, wait or chain, place), the most frequent first: a thousand workers
//      that wait alike make one line. Idle helper threads of .NET are only counted. Then pending work (why_pending.h).
//   4. "Not known" lines: every gap in the evidence is stated, because silence would read as "nothing is wrong".
// Bounds: kMostSteps steps of a verdict (kMostWorkers of a starved pool), kMostGroups groups of waits; --json has all.
// Loops are linear in threads and frames, plus sorting.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "mixstack/subjects.h"
#include "output/report/crash_text.h"
#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/style.h"
#include "output/report/thread_role.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_busy.h"
#include "output/report/why_contended.h"
#include "output/report/why_end.h"
#include "output/report/why_pending.h"
#include "output/report/why_slow.h"
#include "output/report/why_steps.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostWorkers = 3;  // of a starved pool: they wait for much the same
constexpr std::size_t kMostGroups = 24;

std::string blocked_workers(const ThreadPool& pool, std::size_t blocked) {
  const auto all = std::max<std::size_t>(pool.busy.size(), static_cast<std::size_t>(std::max(pool.processing, 0)));
  if (blocked < all) return fmt::format("{} of {} workers", blocked, all);
  return blocked == 1 ? "the only worker" : fmt::format("all {} workers", blocked);
}

std::string queued_words(const ThreadPool& pool) {
  return (pool.has_more ? "more than " : "") + counted(pool.queued, "item");
}

std::string starved_words(const ProcessDump& dump, const Verdict& v) {
  const auto has_pool = [](const RuntimeSummary& r) { return r.pending && r.pending->pool; };
  const auto runtime = std::find_if(dump.runtimes.begin(), dump.runtimes.end(), has_pool);
  const ThreadPool pool = runtime == dump.runtimes.end() ? ThreadPool{} : *runtime->pending->pool;
  if (v.is_certain)
    return fmt::format("STARVED: {} of the thread pool {}, {} of them for work that is queued ({})",
                       blocked_workers(pool, v.threads), v.threads == 1 ? "waits" : "wait", v.steps.size(),
                       queued_words(pool));
  return fmt::format(
      "POSSIBLY STARVED: {} of the thread pool {}, {} {} queued{}", blocked_workers(pool, v.threads),
      v.threads == 1 ? "waits" : "wait", queued_words(pool), pool.queued == 1 ? "is" : "are",
      pool.since_dequeue ? ", none taken for " + coarse_duration_words(*pool.since_dequeue) : std::string());
}

std::string await_cycle_words(const Verdict& v) {
  std::string text = v.is_certain ? "DEADLOCK: " : "POSSIBLE DEADLOCK: ";
  text += v.methods.size() == 1
              ? fmt::format("the async method {} awaits itself", escape_for_terminal(short_method(v.methods[0].method)))
              : fmt::format("{} async methods await each other in a cycle", v.methods.size());
  if (v.cycles > 1) text += fmt::format(", {} such cycles", v.cycles);
  if (v.threads != 0) text += fmt::format(", {} for it", counted(v.threads, "thread waits", "threads wait"));
  return text;
}

std::string process_words(const ProcessDump& dump, const Verdict& v) {
  const ThreadDump* thread = find_thread(dump, v.steps.front().thread);
  std::string names;
  if (thread != nullptr && thread->wait)
    for (const OtherProcess& p : thread->wait->processes)
      names += (names.empty() ? "" : ", ") + fmt::format("{} \"{}\"", p.pid, escape_for_terminal(p.name));
  if (v.kind == VerdictKind::stopped_process)
    return fmt::format("{}STOPPED PROCESS: thread {} waits for process {}, which a signal has stopped",
                       v.is_certain ? "" : "POSSIBLY ", thread_words(dump, v.steps.front().thread), names);
  return fmt::format(
      "POSSIBLE DEADLOCK: this may be a cycle over processes: thread {} waits for process {}, which waits "
      "for this one",
      thread_words(dump, v.steps.front().thread), names);
}

std::string headline(const ProcessDump& dump, const Verdict& v) {
  switch (v.kind) {
    case VerdictKind::deadlock: {
      std::string text = v.is_certain ? "DEADLOCK: " : "POSSIBLE DEADLOCK: ";
      text += v.steps.size() == 1 ? fmt::format("thread {} waits for itself", thread_words(dump, v.steps[0].thread))
                                  : fmt::format("{} threads wait for each other in a cycle", v.steps.size());
      const std::size_t behind = v.threads > v.steps.size() ? v.threads - v.steps.size() : 0;
      if (behind != 0) text += fmt::format(", {} more behind them", behind);
      return text;
    }
    case VerdictKind::await_cycle:
      return await_cycle_words(v);
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
    case VerdictKind::orphaned_lock: {
      const ThreadDump* first = find_thread(dump, v.steps.front().thread);
      return fmt::format("{}: {} for a lock that nobody can leave: {}",
                         v.is_certain ? "ORPHANED LOCK" : "POSSIBLY ORPHANED LOCK",
                         counted(v.threads, "thread waits", "threads wait"),
                         first != nullptr && first->wait
                             ? "the owner of " + escape_for_terminal(first->wait->object.type) + " has ended"
                             : "its owner has ended");
    }
    case VerdictKind::process_cycle:
    case VerdictKind::stopped_process:
      return process_words(dump, v);
    case VerdictKind::chain:
      break;
  }
  return fmt::format("{}HELD UP: {} for thread {}", v.is_certain ? "" : "POSSIBLY ",
                     counted(v.threads, "thread waits", "threads wait"), thread_words(dump, v.steps.back().thread));
}

void write_verdict(Painter& out, const ProcessDump& dump, const Verdict& verdict) {
  out.paint(verdict.is_certain ? Ink::header : Ink::warning, headline(dump, verdict));
  out.plain() << '\n';
  const std::size_t most = verdict.kind == VerdictKind::starved_pool ? kMostWorkers : kMostSteps;
  for (std::size_t i = 0; i < std::min(verdict.methods.size(), most); i++) {
    const AsyncStep &method = verdict.methods[i], &next = verdict.methods[(i + 1) % verdict.methods.size()];
    out.plain() << fmt::format("  {} 0x{:x} awaits {}{}\n", escape_for_terminal(short_method(method.method)),
                               method.box, escape_for_terminal(short_method(next.method)),
                               method.state < 0 ? std::string() : fmt::format(" (await {})", method.state + 1));
  }
  if (verdict.methods.size() > most)
    out.plain() << fmt::format("  ... and {} (--json has all)\n",
                               counted(verdict.methods.size() - most, "more method"));
  std::size_t shown = 0;
  for (const VerdictStep& step : verdict.steps) {
    if (shown++ == most) {
      out.plain() << fmt::format("  ... and {} (--json has all)\n",
                                 counted(verdict.steps.size() - most, "more thread"));
      break;
    }
    if (const ThreadDump* thread = find_thread(dump, step.thread)) write_step(out, dump, *thread);
  }
  out.plain() << '\n';
}

/// Key of a wait: equal for threads that wait in the same place for the same kind of object, each for one of its own.
std::string likeness(const ProcessDump& dump, const ThreadDump& t) {
  // Threads that wait for equal chains of async methods wait for tasks of their own.
  std::set<std::string> chains;
  for (const AsyncChain* chain : chains_of(dump, t.tid)) chains.insert(chain_words(dump, *chain));
  const std::string what = !chains.empty() ? fmt::format("{}", fmt::join(chains, "\n"))
                                           : fmt::format("{} {}", to_string(t.wait->kind), t.wait->is_reading);
  return fmt::format("{}\n{}\n{}", t.wait->object.type, what, place_words(dump, t));
}

/// Idle threads of .NET. The socket engine's is shown all the same: its wait shows which sockets there are.
bool is_idle_helper(const ProcessDump& dump, const ThreadDump& t, const UserCode& user) {
  const ThreadRole role = role_of(dump, t);
  return role != ThreadRole::other && role != ThreadRole::main && role != ThreadRole::sockets &&
         is_idle(dump, t, role, user);
}

/// Waits that are alike, the most frequent first.
void write_waits(Painter& out, const ProcessDump& dump) {
  struct Group {
    std::size_t count = 0;
    const ThreadDump* first = nullptr;
    std::set<Address> objects;
  };
  std::map<std::string, Group> groups;
  const UserCode user = user_code_of(dump);
  std::size_t waiting = 0, helpers = 0;
  for (const ThreadDump& t : dump.threads) {
    if (wait_words(dump, t).empty()) continue;
    waiting++;
    if (is_idle_helper(dump, t, user)) {
      helpers++;
      continue;
    }
    Group& g = groups[likeness(dump, t)];
    g.count++;
    g.objects.insert(t.wait->object.address);
    if (g.first == nullptr) g.first = &t;
  }
  std::vector<const Group*> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) sorted.push_back(&group);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  if (waiting == 0) return;
  out.paint(Ink::header, fmt::format("{} of {} {} for something that is known:", waiting,
                                     counted(dump.threads.size(), "thread"), waiting == 1 ? "waits" : "wait"));
  out.plain() << '\n';
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostGroups); i++) {
    const Group& group = *sorted[i];
    const ThreadDump& t = *group.first;
    if (group.count == 1) {
      write_step(out, dump, t);
      continue;
    }
    const std::size_t objects = group.objects.size();
    const std::string of = objects == 1             ? std::string()
                           : objects == group.count ? " each for one of its own,"
                                                    : fmt::format(" for {} different ones,", objects);
    out.plain() << fmt::format("  {} threads,{} {} one of them: {}\n", group.count, of, t.tid, wait_words(dump, t));
    write_place(out, dump, t);
  }
  if (sorted.size() > kMostGroups)
    out.plain() << fmt::format("  ... and {} more (--json has all)\n", sorted.size() - kMostGroups);
  if (helpers != 0)
    out.plain() << fmt::format("  {} for something to do\n",
                               counted(helpers, "thread of .NET waits", "threads of .NET wait"));
}

/// Writes suspensions that are no verdict: most last only a moment.
void write_suspensions(Painter& out, const ProcessDump& dump, std::span<const Verdict> verdicts) {
  const auto is_suspension = [](const Verdict& v) { return v.kind == VerdictKind::stuck_suspension; };
  if (std::any_of(verdicts.begin(), verdicts.end(), is_suspension)) return;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.suspension) continue;
    const auto& [by, waits_for] = *runtime.suspension;
    out.plain() << "GC: thread " << thread_words(dump, by)
                << (waits_for.empty() ? " has stopped the runtime's threads (for a garbage collection, mostly)\n"
                                      : " stops the runtime's threads (for a garbage collection, mostly), and waits "
                                        "for these to let it begin:\n");
    if (const ThreadDump* thread = find_thread(dump, by); thread != nullptr && waits_for.empty())
      write_place(out, dump, *thread);
    for (std::size_t i = 0; i < std::min(waits_for.size(), kMostSteps); i++)
      if (const ThreadDump* thread = find_thread(dump, waits_for[i])) write_step(out, dump, *thread);
  }
}

/// Whether the system call waits until another thread or process acts, without naming it. Other calls name the file,
/// signal or time that they wait for.
bool waits_for_somebody(const ProcessDump& dump, const ThreadDump& t) {
  if (t.facts.object.starts_with("futex")) return true;
  constexpr std::string_view kCalls[] = {"semop", "semtimedop", "msgrcv", "msgsnd"};
  const std::string_view call = t.syscall < 0 ? std::string_view() : syscall_name(dump.target.arch, t.syscall);
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

/// Where a thread blocks for an unknown reason: the outermost function of a native library that managed code called, or
/// of libc if the caller is code of the program; empty: the wait is known, or the thread runs. Waits of the runtime are
/// skipped: most are short, and .NET's own code calls libc for them, too.
std::string unknown_wait(const ProcessDump& dump, const ThreadDump& t, const UserCode& user) {
  if (!t.captured || t.wait || (t.kernel_state != 'S' && t.kernel_state != 'D')) return {};
  if (!waits_for_somebody(dump, t)) return {};
  constexpr std::string_view kRuntime[] = {"libcoreclr.so", "libclrjit.so", "libclrgc", "libSystem.Native.so"};
  constexpr std::string_view kLibc[] = {"libc.so", "libc-", "ld-", "ld.so", "libpthread", "[vdso]"};
  std::string words, of_libc;
  bool is_in_runtime = false;
  const std::size_t frames = std::min(t.trace.frames.size(), t.symbols.size());
  for (std::size_t i = 0; i < frames; i++) {
    const bool is_managed = t.trace.frames[i].kind == FrameKind::managed;
    if (t.symbols[i] >= dump.symbols.size()) {
      if (is_managed) return words;
      continue;
    }
    const SymbolInfo& symbol = dump.symbols[t.symbols[i]];
    if (is_managed)
      return words.empty() && !is_in_runtime && user.is_user(symbol, FrameKind::managed) ? of_libc : words;
    if (t.trace.frames[i].kind != FrameKind::native) continue;
    const auto is_of = [&](const auto& names) {
      return std::any_of(std::begin(names), std::end(names),
                         [&](std::string_view name) { return symbol.module.starts_with(name); });
    };
    is_in_runtime = is_in_runtime || is_of(kRuntime);
    if (symbol.module.empty() || is_of(kRuntime)) continue;
    std::string& of = is_of(kLibc) ? of_libc : words;
    of = escape_for_terminal(symbol.name.empty() ? symbol.module : symbol.name + ", " + symbol.module);
  }
  return {};
}

/// The threads of `unknown_wait`, by function.
std::map<std::string, std::vector<ThreadId>> unknown_waits(const ProcessDump& dump) {
  std::map<std::string, std::vector<ThreadId>> found;
  const UserCode user = user_code_of(dump);
  for (const ThreadDump& t : dump.threads)
    if (const std::string words = unknown_wait(dump, t, user); !words.empty()) found[words].push_back(t.tid);
  return found;
}

void write_unknown_waits(Painter& out, const ProcessDump& dump) {
  for (const auto& [words, threads] : unknown_waits(dump))
    out.plain() << fmt::format("Not known: what {} for in {}, called by managed code: {}{}\n",
                               counted(threads.size(), "thread waits", "threads wait"), words,
                               thread_words(dump, threads.front()), threads.size() > 1 ? ", ..." : "");
}

}  // namespace

std::size_t waits_not_known(const ProcessDump& dump) {
  std::size_t count = 0;
  for (const auto& [words, threads] : unknown_waits(dump)) count += threads.size();
  return count;
}

bool knows_waits(const ProcessDump& dump) {
  const auto refuses = [](const Diagnosis& d) { return d.subject == kWaitsSubject; };
  const auto is_aot = [](const RuntimeSummary& r) { return r.kind == "NativeAOT"; };
  // Objects of NativeAOT programs are not read.
  if (!dump.runtimes.empty() && std::all_of(dump.runtimes.begin(), dump.runtimes.end(), is_aot)) return false;
  return !dump.runtimes.empty() && std::none_of(dump.diagnoses.begin(), dump.diagnoses.end(), refuses);
}

std::size_t threads_apart(const ProcessDump& dump) {
  return static_cast<std::size_t>(std::count_if(dump.threads.begin(), dump.threads.end(), [](const ThreadDump& t) {
    if (t.captured) return t.late.count() != 0;
    return t.capture_error.code == ErrorCode::thread_not_stopped && t.kernel_state != 'D';
  }));
}

std::string_view verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::deadlock:
      return "deadlock";
    case VerdictKind::await_cycle:
      return "await_cycle";
    case VerdictKind::starved_pool:
      return "starved_pool";
    case VerdictKind::stuck_suspension:
      return "stuck_suspension";
    case VerdictKind::blocked_finalizer:
      return "blocked_finalizer";
    case VerdictKind::orphaned_lock:
      return "orphaned_lock";
    case VerdictKind::process_cycle:
      return "process_cycle";
    case VerdictKind::stopped_process:
      return "stopped_process";
    case VerdictKind::chain:
      break;
  }
  return "chain";
}

namespace {

/// A process that uses less is called fine before it is said what it runs.
constexpr double kBusy = 0.5;

bool begins_with_busy(const ProcessDump& dump, std::span<const Verdict> verdicts, const WhyExtras& extras) {
  // Busy code is no answer where the waits are not known: it comes after the headline then.
  if (extras.busy == nullptr || (verdicts.empty() && !dump.runtimes.empty() && !knows_waits(dump))) return false;
  const bool is_answer = extras.health == nullptr || extras.health->wanted() >= kBusy || !extras.causes.empty();
  return !verdicts.empty() || is_answer;
}

/// The sentence of an answer without verdicts.
void write_nothing(Painter& out, const ProcessDump& dump, const WhyExtras& extras, bool is_first) {
  constexpr std::chrono::milliseconds kLong{300};  // for a lock whose holder may wait for ever
  const bool is_fine = is_first && extras.health != nullptr && extras.is_whole && knows_waits(dump) &&
                       extras.causes.empty() && extras.contended.empty() &&
                       (extras.health->longest_lock_wait < kLong || open_end_words(dump).empty());
  if (is_fine) {
    out.paint(Ink::header, fmt::format("Nothing is wrong: {}.", health_words(*extras.health)));
  } else {
    out.paint(Ink::header, nothing_words(dump, extras.contended));
    if (extras.health != nullptr) out.plain() << '\n' << fmt::format("Counted: {}.", health_words(*extras.health));
  }
  out.plain() << "\n\n";
}

}  // namespace

std::string verdict_words(const ProcessDump& dump, const Verdict& verdict) { return headline(dump, verdict); }

void write_why_text(Writer& writer, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const ReportOptions& options, const WhyExtras& extras) {
  Painter out(writer, options.color);
  write_cut(out, dump);
  write_end(out, dump);
  write_last_words(out, dump);
  for (const Verdict& v : verdicts) write_verdict(out, dump, v);
  write_causes_text(out, extras.causes);
  const bool is_busy_first = begins_with_busy(dump, verdicts, extras);
  if (is_busy_first) write_busy_text(out, *extras.busy);
  if (verdicts.empty()) write_nothing(out, dump, extras, !is_busy_first);
  if (extras.busy != nullptr && !is_busy_first) write_busy_text(out, *extras.busy);
  if (const std::string stage = text_about(dump, kStageSubject); !stage.empty()) out.plain() << stage << ".\n\n";
  const auto is_contended = [](const SlowCause& c) { return c.kind == SlowKind::contended; };
  if (std::none_of(extras.causes.begin(), extras.causes.end(), is_contended))
    write_contended(out, dump, extras.contended);
  if (extras.unmoved != nullptr) write_unmoved_text(out, dump, *extras.unmoved);
  for (const std::string& change : extras.changes) out.plain() << "Changed: " << change << '\n';
  write_suspensions(out, dump, verdicts);
  write_waits(out, dump);
  write_pending_text(out, dump);
  const auto knows_no_heap = [](const RuntimeSummary& r) {
    return r.pending && !r.pending->heap && r.pending->no_heap.empty();
  };
  if (verdicts.empty() && std::any_of(dump.runtimes.begin(), dump.runtimes.end(), knows_no_heap))
    out.plain() << "Async methods that no thread, timer, queue or socket leads to are found with --heap.\n";
  const std::string unread = text_about(dump, kRuntimeSubject);
  if (dump.runtimes.empty() && !unread.empty())
    out.plain() << "Not known: " << unread << ".\n";
  else if (dump.runtimes.empty())
    out.plain()
        << "Not known: there is no .NET runtime. Of native locks, pthread mutexes, read-write locks and joins of glibc "
           "are read.\n";
  if (std::any_of(dump.runtimes.begin(), dump.runtimes.end(), [](const auto& r) { return r.kind == "NativeAOT"; }))
    out.plain() << "Not known: what managed code of NativeAOT waits for: its objects are not read. Of native locks, "
                   "pthread mutexes, read-write locks and joins of glibc are read.\n";
  if (const std::size_t apart = threads_apart(dump); apart != 0)
    out.plain() << fmt::format("Not known: what {} for, which did not stop with the others.\n",
                               counted(apart, "thread waits", "threads wait"));
  write_unknown_waits(out, dump);
  for (const Diagnosis& d : dump.diagnoses)
    if (d.subject == kWaitsSubject) out.plain() << "Not known: " << escape_for_terminal(d.text) << '\n';
}

}  // namespace mixstack::report
