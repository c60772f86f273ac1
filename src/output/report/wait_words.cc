#include "output/report/wait_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/words/event_wait.h"
#include "base/words/wait_kinds.h"
#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/thread_role.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostOwners = 4;

/// Activity of the other processes that must act for the wait to end.
std::string process_words(const ProcessDump& dump, const ThreadWait& wait) {
  std::string text;
  for (const OtherProcess& p : wait.processes) {
    std::string doing = p.doing;
    if (doing.empty() && p.syscall >= 0) doing = "is in " + syscall_words(dump.target.arch, p.syscall);
    if (doing.empty()) continue;
    text += fmt::format("; process {} {}", p.pid, escape_for_terminal(doing));
  }
  return text;
}

/// Words before the first owner: how the owners relate to the awaited object.
std::string_view owner_role(const ThreadWait& wait) {
  switch (facts_of(wait.kind).role) {
    case OwnerRole::runner:
      return ", run by ";
    case OwnerRole::thread:
      return ", thread ";
    case OwnerRole::holder:
      break;
  }
  return is_event(wait) ? ", to be set by " : ", held by ";
}

std::string owner_words(const ProcessDump& dump, const ThreadWait& wait) {
  if (wait.owners.empty()) return {};
  std::string text(owner_role(wait));
  for (std::size_t i = 0; i < std::min(wait.owners.size(), kMostOwners); i++)
    text += (i == 0 ? "" : ", ") + thread_words(dump, wait.owners[i]);
  if (wait.owners.size() > kMostOwners) text += fmt::format(" and {} more", wait.owners.size() - kMostOwners);
  return text;
}

/// Symbol of the innermost function of the program, else of the innermost managed frame. A frame has several functions
/// where calls were inlined: .NET's are skipped.
std::optional<std::uint32_t> place_of(const ProcessDump& dump, const ThreadDump& thread) {
  const UserCode user = user_code_of(dump);
  const std::size_t frames = std::min(thread.trace.frames.size(), thread.symbols.size());
  for (std::size_t i = 0; i < frames; i++)
    for (const std::uint32_t s : logical_frames(dump.symbols, thread.symbols[i]))
      if (s < dump.symbols.size() && user.is_user(dump.symbols[s], thread.trace.frames[i].kind)) return s;
  for (std::size_t i = 0; i < frames; i++)
    if (thread.trace.frames[i].kind == FrameKind::managed) return thread.symbols[i];
  return std::nullopt;
}

}  // namespace

bool is_told_by_call(const ThreadWait& wait) {
  // A wait that is not recorded has another call: that of the lock which the runtime waits with.
  return wait.proof == Proof::recorded && facts_of(wait.kind).is_told_by_call;
}

const ThreadDump* find_thread(const ProcessDump& dump, ThreadId tid) {
  // The kernel usually lists threads in order of their ids: binary search first, linear search if that finds none.
  std::size_t begin = 0, end = dump.threads.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (dump.threads[middle].tid == tid) return &dump.threads[middle];
    (dump.threads[middle].tid < tid ? begin : end) = dump.threads[middle].tid < tid ? middle + 1 : middle;
  }
  const auto is_it = [tid](const ThreadDump& t) { return t.tid == tid; };
  const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
  return at == dump.threads.end() ? nullptr : &*at;
}

std::string thread_words(const ProcessDump& dump, ThreadId tid) {
  const ThreadDump* thread = find_thread(dump, tid);
  if (thread == nullptr) return std::to_string(tid);
  const std::string& name = thread->managed && !thread->managed->name.empty() ? thread->managed->name : thread->comm;
  return name.empty() ? std::to_string(tid) : fmt::format("{} \"{}\"", tid, escape_for_terminal(name));
}

namespace {

/// The async method whose task a thread waits for; empty: of another task, or none.
std::string_view waited_method(const ProcessDump& dump, const ThreadDump& thread) {
  if (!facts_of(thread.wait->kind).is_of_tasks) return {};
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains)
      if (chain.waiter == thread.tid && !chain.steps.empty() && chain.steps.front().box == thread.wait->object.address)
        return chain.steps.front().method;
  }
  return thread.wait->method;
}

/// A thread that suspends the runtime sleeps until all others have stopped.
bool waits_for_suspension(const ProcessDump& dump, const ThreadDump& thread) {
  return thread.wait->kind == WaitKind::sleep &&
         std::any_of(dump.runtimes.begin(), dump.runtimes.end(), [&](const RuntimeSummary& r) {
           return r.suspension && r.suspension->by == thread.tid && !r.suspension->waits_for.empty();
         });
}

}  // namespace

std::string wait_words(const ProcessDump& dump, const ThreadDump& thread) {
  if (!thread.wait || thread.wait->kind == WaitKind::none) return {};
  if (waits_for_suspension(dump, thread)) return "waits until the runtime's other threads have stopped";
  const ThreadWait& wait = *thread.wait;
  const WaitKindFacts& kind = facts_of(wait.kind);
  std::string text = fmt::format("waits {}for {}", wait.proof == Proof::likely ? "(likely) " : "", kind.phrase);
  if (const std::string_view method = waited_method(dump, thread); !method.empty()) {
    // The task of an async method has a type that says nothing to people.
    const std::string name = "the async method " + escape_for_terminal(short_method(method));
    text = wait.kind == WaitKind::task
               ? fmt::format("waits {}for {}", wait.proof == Proof::likely ? "(likely) " : "", name)
               : text + " " + name;
  } else if (!wait.object.type.empty()) {
    text += " " + escape_for_terminal(wait.object.type);
  }
  if (wait.object.address != 0 && kind.object_is_a_place) text += fmt::format(" {:#x}", wait.object.address);
  if (text.ends_with(',')) text.pop_back();  // nothing more is known of it
  if (!wait.object.detail.empty()) text += " (" + escape_for_terminal(wait.object.detail) + ")";
  if (wait.is_reading) text += " to read";
  text += wait.owner_has_ended ? ", whose owner has ended" : owner_words(dump, wait);
  if (wait.others.size() > 1) text += fmt::format(", {} in all", wait.others.size() + wait.more_others);
  if (wait.timeout) text += fmt::format(", at most {} ms", wait.timeout->count());
  if (wait.gives_up) text += ", may time out";
  return text + process_words(dump, wait);
}

std::string place_words(const ProcessDump& dump, const ThreadDump& thread) {
  const auto function = place_of(dump, thread);
  if (!function || *function >= dump.symbols.size()) return {};
  const SymbolInfo& symbol = dump.symbols[*function];
  if (symbol.name.empty()) return {};
  std::string text = escape_for_terminal(symbol.name);
  if (!symbol.file.empty()) text += fmt::format(" in {}:{}", escape_for_terminal(symbol.file), symbol.line);
  return text;
}

}  // namespace mixstack::report
