// Input: the pending work of a dump: async chains, thread pool, timers, garbage collector, search of the heap.
// Output: their lines for people; nothing is decided here.
// Algorithm: one function for each part; names of methods are shortened to type and method, equal chains are counted by
// the caller. The end of a chain chooses its words.
// Bounds: those of the data; one line each.
#include "output/report/pending_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "dotnet/bcl/sockets_and_requests.h"
#include "dotnet/bcl/tasks.h"
#include "output/report/escape.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostMethods = 12;  // of one chain, in words
constexpr std::size_t kMostWork = 6;

/// The thread, scheduler or queue that runs a task or will.
std::string on_thread(const ProcessDump& dump, const AsyncChain& chain) {
  if (chain.runner != 0) return ", run by " + thread_words(dump, chain.runner);
  if (!chain.scheduler.empty())
    return ", left to the waiting thread's own task scheduler " + escape_for_terminal(chain.scheduler);
  return chain.is_queued ? ", queued in the thread pool" : "";
}

/// Why no thread runs the rest: it was posted to the context or scheduler of the thread that waits for it.
std::string posted_words(const AsyncChain& chain) {
  if (chain.waiter == 0) return {};
  if (!chain.scheduler.empty())
    return ": its rest was given to a task scheduler, the waiting thread's own " +
           escape_for_terminal(chain.scheduler) + " as it seems";
  if (chain.context.empty()) return {};
  return ": its rest was posted to a synchronization context, the waiting thread's own " +
         escape_for_terminal(chain.context) + " as it seems";
}

/// A value source (IValueTaskSource) in words. A channel appears as the type of one of its waiters.
std::string source_words(const std::string& type) {
  struct Known {
    std::string_view begin, words;
  };
  constexpr Known kChannels[] = {{dotnet::bcl::kBlockedRead, "an item of a channel"},
                                 {dotnet::bcl::kWaitingRead, "an item of a channel"},
                                 {dotnet::bcl::kBlockedWrite, "room in a channel"},
                                 {dotnet::bcl::kWaitingWrite, "room in a channel"}};
  for (const Known& known : kChannels)
    if (type.starts_with(known.begin)) return std::string(known.words);
  if (type.starts_with(dotnet::bcl::kPipeReader)) return "bytes of a PipeReader";
  if (type.starts_with(dotnet::bcl::kPipeWriter)) return "room in a PipeWriter";
  if (type == dotnet::bcl::kTimerTicks) return "the next tick of a PeriodicTimer";
  if (type == dotnet::bcl::kCancellationSource) return "the end of a callback of a CancellationTokenSource";
  if (type == dotnet::bcl::HttpPool::kType) return "a connection of the pool";
  if (type == "pipe") return "a pipe";
  return escape_for_terminal(type);
}

}  // namespace

std::string end_words(const ProcessDump& dump, const AsyncChain& chain) {
  switch (chain.end) {
    case AsyncEnd::unknown:
      break;
    case AsyncEnd::running:
      if (chain.runner != 0) return "runs on thread " + thread_words(dump, chain.runner);
      return chain.is_queued ? "is queued in the thread pool" : "runs, or is about to";
    case AsyncEnd::yielded:
      return chain.is_queued ? "is queued in the thread pool" : "has yielded" + posted_words(chain);
    case AsyncEnd::completed:
      return chain.is_queued ? "is queued in the thread pool"
                             : "has what it awaited, and has not gone on" + posted_words(chain);
    case AsyncEnd::delay:
      return "awaits Task.Delay";
    case AsyncEnd::all_tasks:
      return "awaits Task.WhenAll";
    case AsyncEnd::any_task:
      return "awaits Task.WhenAny";
    case AsyncEnd::promise:
      if (chain.awaited.type.starts_with(dotnet::bcl::kUnwraps)) return "awaits the task that another has returned";
      return "awaits a TaskCompletionSource";
    case AsyncEnd::semaphore:
      return "awaits SemaphoreSlim.WaitAsync";
    case AsyncEnd::socket:
      return "awaits a socket";
    case AsyncEnd::work:
      return "awaits " + (chain.work.empty() ? "a task's work" : escape_for_terminal(short_method(chain.work))) +
             on_thread(dump, chain);
    case AsyncEnd::cycle: {
      const auto is_it = [&](const AsyncStep& s) { return s.box == chain.awaited.address; };
      const auto first = std::find_if(chain.steps.begin(), chain.steps.end(), is_it);
      return "awaits " +
             (first == chain.steps.end() ? "itself" : escape_for_terminal(short_method(first->method)) + " again") +
             ", in a cycle";
    }
    case AsyncEnd::source:
      return "awaits " + source_words(chain.awaited.type);
  }
  return "awaits something that is not known";
}

std::string coarse_duration_words(std::chrono::milliseconds time) {
  const double ms = static_cast<double>(time.count());
  if (ms < 1000) return fmt::format("{} ms", time.count());
  if (ms < 60e3) return fmt::format("{:.1f} s", ms / 1000);
  if (ms < 3600e3) return fmt::format("{:.0f} min", ms / 60e3);
  return fmt::format("{:.1f} h", ms / 3600e3);
}

namespace {

/// Appends the method's name without parameter lists, its own and those of enclosing methods. Returns the number of
/// enclosing methods that have one.
std::size_t strip_parameters(std::string_view method, std::string& out) {
  std::size_t outer = 0;
  int angles = 0, brackets = 0;
  for (std::size_t i = 0; i < method.size(); i++) {
    const char c = method[i];
    if (brackets == 0) angles += c == '<' ? 1 : c == '>' && angles > 0 ? -1 : 0;
    if (angles == 0 && c == '(' && i != 0) brackets++;
    if (brackets == 0) out += c;
    if (brackets != 0 && c == ')' && --brackets == 0 && i + 1 < method.size() && method[i + 1] == '.') outer++;
  }
  return outer;
}

}  // namespace

std::string short_method(std::string_view method) {
  // Strip the kind of the method that follows the name: "[async]".
  if (const std::size_t kind = method.rfind(" ["); kind != std::string_view::npos && method.back() == ']')
    method = method.substr(0, kind);
  std::string text;
  std::size_t wanted = 2 + strip_parameters(method, text);
  // A lambda's method is written without parameters when no other has its name: keep one more part.
  if (wanted == 2 && text.ends_with(".lambda")) wanted++;
  int depth = 0;
  std::size_t dots = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '>' || text[i] == ')') depth++;
    if (text[i] == '<' || text[i] == '(') depth--;
    if (text[i] == '.' && depth == 0 && ++dots == wanted) return text.substr(i + 1);
  }
  return text;
}

std::string chain_words(const ProcessDump& dump, const AsyncChain& chain) {
  // A task that stands for a source of a value alone has no method, and neither has one of work.
  const bool is_source = chain.end == AsyncEnd::source || chain.end == AsyncEnd::socket;
  if (chain.steps.empty() && is_source) {
    std::string end = end_words(dump, chain);
    constexpr std::string_view kAwaits = "awaits ";
    return end.substr(end.starts_with(kAwaits) ? kAwaits.size() : 0) + (chain.gives_up ? ", may time out" : "");
  }
  if (chain.steps.empty() && chain.end != AsyncEnd::work) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(chain.steps.size(), kMostMethods); i++)
    text += (i == 0 ? "" : " > ") + escape_for_terminal(short_method(chain.steps[i].method));
  if (chain.steps.size() > kMostMethods) text += fmt::format(" > {} more", chain.steps.size() - kMostMethods);
  const std::string_view gives_up = chain.gives_up ? ", may time out" : "";
  if (chain.steps.empty())
    return escape_for_terminal(short_method(chain.work)) + on_thread(dump, chain) + std::string(gives_up);
  if (chain.is_cut) return text + " > ...";
  text += " " + end_words(dump, chain);
  text += gives_up;
  if (chain.proof == Proof::likely) text += " (likely)";
  return text;
}

std::string due_words(const AsyncChain& chain) {
  if ((chain.end == AsyncEnd::socket || chain.end == AsyncEnd::source) && !chain.awaited.detail.empty())
    return " (" + escape_for_terminal(chain.awaited.detail) + ")";
  if (chain.end != AsyncEnd::delay || !chain.due) return {};
  if (chain.due->count() >= 0) return fmt::format(" (due in {})", coarse_duration_words(*chain.due));
  return fmt::format(" ({} late{})", coarse_duration_words(-*chain.due),
                     chain.is_queued ? ": timers are queued in the thread pool" : "");
}

std::string pool_words(const ProcessDump& dump, const ThreadPool& pool) {
  // The pool itself counts those alone that wait for tasks.
  const auto waits = [&](ThreadId tid) {
    const ThreadDump* thread = find_thread(dump, tid);
    return thread != nullptr && thread->wait;
  };
  const auto waiting = static_cast<std::int32_t>(std::count_if(pool.busy.begin(), pool.busy.end(), waits));
  std::string text =
      fmt::format("{} (goal {}, max {}), {} blocked; {}{} queued",
                  counted(static_cast<std::uint64_t>(std::max(pool.existing, 0)), "worker"), pool.goal, pool.max,
                  std::max(pool.blocked, waiting), pool.has_more ? "more than " : "", pool.queued);
  for (std::size_t i = 0; i < std::min(pool.work.size(), kMostWork); i++) {
    const QueuedWork& w = pool.work[i];
    text += fmt::format("{} {} x {}{}", i == 0 ? ":" : ",", w.count, w.is_continuation ? "the rest of " : "",
                        escape_for_terminal(short_method(w.what)));
  }
  if (pool.work.size() > kMostWork) text += fmt::format(" and {} other kinds", pool.work.size() - kMostWork);
  return text;
}

std::string timer_words(const Timers& timers) {
  std::string text = fmt::format("{}{}", timers.has_more ? "more than " : "", timers.count);
  if (timers.delays != 0) text += fmt::format(", {} of Task.Delay", timers.delays);
  if (timers.timeouts != 0) text += fmt::format(", {} of time-outs", timers.timeouts);
  if (timers.next_due)
    text += timers.next_due->count() >= 0 ? "; the next is due in " + coarse_duration_words(*timers.next_due)
                                          : "; the first is " + coarse_duration_words(-*timers.next_due) + " late";
  return text;
}

std::string gc_words(const ProcessDump& dump, const RuntimeSummary& runtime) {
  const GcState& gc = *runtime.pending->gc;
  std::string text = gc.is_server ? "server, " + counted(gc.heaps, "heap") : "workstation";
  text += fmt::format(", {} of small objects", size_words(gc.bytes));
  constexpr std::uint64_t kWorthTelling = 1 << 20;
  if (gc.large_bytes.value_or(0) >= kWorthTelling)
    text += fmt::format(", {} of large and pinned ones", size_words(*gc.large_bytes));
  if (gc.collections) text += fmt::format(", {} collection{}", *gc.collections, *gc.collections == 1 ? "" : "s");
  if (gc.in_background) text += ", one in the background now";
  if (runtime.suspension) text += "; thread " + thread_words(dump, runtime.suspension->by) + " stops the others";
  if (!gc.is_walkable) text += "; objects are being moved";
  if (gc.finalizable != 0)
    text += fmt::format("; {} object{} for a finalizer", gc.finalizable, gc.finalizable == 1 ? " waits" : "s wait");
  return text;
}

std::string heap_words(const HeapScan& scan) {
  std::string text = fmt::format("{} searched", size_words(scan.bytes));
  if (scan.pause.count() != 0)
    text += fmt::format(" in {}, in which the process stood still",
                        coarse_duration_words(std::chrono::duration_cast<std::chrono::milliseconds>(scan.pause)));
  if (scan.stops > 1) text += fmt::format(" (at stop {}: a collection ran at those before)", scan.stops);
  text +=
      fmt::format("; {}{} async {}, {} run{}", scan.has_more ? "more than " : "", scan.suspended,
                  scan.suspended == 1 ? "method waits" : "methods wait", scan.running, scan.running == 1 ? "s" : "");
  if (scan.has_fsharp_async)
    text += scan.fsharp_results == 0
                ? "; computations of F#'s async { } are not counted"
                : "; besides, " +
                      counted(scan.fsharp_results, "result of F#'s async { } is", "results of F#'s async { } are") +
                      " outstanding, whose computations are not followed";
  if (scan.missing != 0) text += fmt::format("; {} are not in the file", size_words(scan.missing));
  return text;
}

const AsyncChain* chain_of(const ProcessDump& dump, ThreadId tid) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains)
      if (chain.waiter == tid && !chain_words(dump, chain).empty()) return &chain;
  }
  return nullptr;
}

std::vector<const AsyncChain*> chains_of(const ProcessDump& dump, ThreadId tid) {
  std::vector<const AsyncChain*> all;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains)
      if (chain.waiter == tid && !chain_words(dump, chain).empty()) all.push_back(&chain);
  }
  return all;
}

}  // namespace mixstack::report
