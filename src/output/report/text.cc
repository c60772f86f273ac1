// The text report of a dump.
// Input: a ProcessDump (plain data) and ReportOptions. Output: lines written through a Writer, coloured if asked.
// Algorithm, in the order of the report:
//   1. The head: process, usage, suspensions, crash. A truncated core comes first, since the rest is incomplete.
//   2. The program's own code across threads (overview.h), so that the reader sees where the program is.
//   3. Stacks, or one tree with --tree: idle threads are left out, equal stacks merged, then sorted stably by rank: the
//      crashed thread, threads with exceptions or code of the program, the others.
//   4. Idle threads in one list, suspended async methods, failures with a hint about missing symbols.
// Bounds: one pass over threads and frames; endless recursion is folded (fold.h); lines are cut to `options.width`.
// Stacks are written as they are made: memory grows with the number of threads, not with the size of the report.
#include "output/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "mixstack/subjects.h"
#include "output/report/crash_text.h"
#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/frame_view.h"
#include "output/report/merge.h"
#include "output/report/overview.h"
#include "output/report/summary.h"
#include "output/report/symbols_hint.h"
#include "output/report/text_async.h"
#include "output/report/text_exception.h"
#include "output/report/text_frame.h"
#include "output/report/text_threads.h"
#include "output/report/text_tree.h"
#include "output/report/vector_text.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string runtimes_text(const ProcessDump& dump) {
  if (dump.runtimes.empty())
    if (std::string unread = text_about(dump, kRuntimeSubject); !unread.empty()) return unread;
  if (dump.runtimes.empty()) return "no .NET runtime";
  std::string text;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!text.empty()) text += ", ";
    text += escape_for_terminal(runtime.kind);
    // Up to .NET 10 a NativeAOT program does not contain the version it was compiled with.
    if (!runtime.version.empty()) {
      text += " " + escape_for_terminal(runtime.version);
    } else if (runtime.kind != "NativeAOT") {
      text += " of unknown version";
    }
    if (!runtime.walkable) text += " (managed frames not available)";
    if (runtime.by_dac) text += " (managed frames by its DAC)";
  }
  return text;
}

std::string pause_text(const ProcessDump& dump) {
  switch (dump.consistency) {
    case Consistency::all_stopped_together:
      break;
    case Consistency::one_by_one:
      return "stopped one by one, " + duration_words(dump.pause) + " in all";
    case Consistency::not_stopped:
      return "not stopped";
  }
  return "paused " + duration_words(dump.pause);
}

/// "up 3 h, 412 MB, 1.9 CPUs busy, container 0123456789ab"; empty where nothing is known.
std::string usage_words(const ProcessDump& dump) {
  if (!dump.usage) return {};
  const ProcessUsage& usage = *dump.usage;
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (usage.uptime) add("up " + age_words(*usage.uptime));
  if (usage.resident_bytes != 0) add(size_words(usage.resident_bytes));
  if (usage.cpu) add(duration_words(*usage.cpu) + " CPU");
  // A shorter interval would show how the processors were shared at that moment, not what the program does.
  constexpr std::chrono::milliseconds kEnough{2};
  if (usage.busy && usage.interval >= kEnough)
    add(fmt::format("{:.1f} CPUs busy in these {}", *usage.busy, duration_words(usage.interval)));
  if (!usage.container.empty()) add("container " + escape_for_terminal(usage.container));
  return text;
}

void write_suspensions(Painter& out, const ProcessDump& dump, const ReportOptions& options) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.suspension) continue;
    const auto& [by, waits_for] = *runtime.suspension;
    std::string text = fmt::format("thread {} ", by);
    text += waits_for.empty()
                ? "has stopped the runtime's threads: a garbage collection, mostly"
                : fmt::format(
                      "stops the runtime's threads (a garbage collection, mostly) and waits for {} "
                      "in cooperative mode: {}",
                      waits_for.size() == 1 ? "one" : std::to_string(waits_for.size()), number_ranges(waits_for));
    out.paint(Ink::warning, "  " + wrapped(text, options.width > 2 ? options.width - 2 : 0, "  ") + "\n");
  }
}

void write_process(Painter& out, const ProcessDump& dump, const ReportOptions& options) {
  const TargetInfo& target = dump.target;
  const std::size_t count = dump.threads.size();
  const bool is_core = !target.core_path.empty();
  out.paint(Ink::header, fmt::format("{} {}: {}\n", is_core ? "Core of process" : "Process", target.pid,
                                     escape_for_terminal(target.executable.empty() ? target.comm : target.executable)));
  write_cut(out, dump);
  if (target.command_line.size() > 1) {
    std::string line = " ";
    for (const std::string& argument : target.command_line) line += ' ' + escape_for_terminal(argument);
    out.plain() << (options.width == 0 ? line : shorten_middle(line, options.width)) << '\n';
  }
  out.plain() << fmt::format("  {}, {}, {} thread{}{}\n", runtimes_text(dump), arch_name(target.arch), count,
                             count == 1 ? "" : "s", is_core ? "" : ", " + pause_text(dump));
  if (const std::string usage = usage_words(dump); !usage.empty()) out.plain() << "  " << usage << '\n';
  if (const std::string stage = text_about(dump, kStageSubject); !stage.empty())
    out.paint(Ink::warning, "  " + stage + "\n");
  write_suspensions(out, dump, options);
  write_crash(out, dump);
  write_last_words(out, dump);
}

void write_stop(const StackText& stack) {
  const ThreadDump& thread = stack.thread;
  std::string words = std::string(stop_words(thread.captured ? thread.trace.stop : StopReason::not_captured));
  const Error& error = thread.captured ? thread.trace.stop_error : thread.capture_error;
  if (words::is_kernel_task(error)) return stack.out.paint(Ink::faint, "--- " + error_words(error) + "\n");
  if (thread.captured && thread.trace.stop == StopReason::max_frames) words += " (--max-frames)";
  if (error.code != ErrorCode::none) words += ": " + error_words(error);
  stack.out.paint(Ink::warning, fmt::format("--- {}: {}\n", thread.captured ? "stack cut" : "no stack", words));
}

/// Frames are numbered as they are in the trace; repeats count rows.
void write_stack(StackText& stack, Folder& folder) {
  const auto& [out, dump, thread, options, evidence, user, show_addresses, number_columns] = stack;
  const std::vector<StackRow> rows = rows_of(dump, thread, options);
  for (const StackRow& row : rows) stack.number_columns = std::max(stack.number_columns, row_number(row).size());
  const auto repeats = options.fold && !options.arguments ? folder.repeats(thread, rows) : std::vector<Repeat>{};
  auto next = repeats.begin();
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (next != repeats.end() && i == next->end()) next++;
    if (next == repeats.end() || i < next->first + next->period) {
      write_row(stack, rows[i]);
    } else if (i == next->first + next->period) {
      out.paint(Ink::faint, fmt::format("{:<21}{}\n", "", repeat_words(*next)));
    }
  }
  if (rows.empty() && thread.captured)
    out.paint(Ink::faint, options.managed_only ? "no managed frame\n" : "no frame\n");
  if (is_cut(thread)) write_stop(stack);
  write_async_callers(stack);
}

/// Arguments that all parts of a report share.
struct Report {
  Painter& out;
  const ProcessDump& dump;
  const ReportOptions& options;
  Folder& folder;
  const UserCode& user;
};

void write_group(const Report& report, const StackGroup& group) {
  const auto& [out, dump, options, folder, user] = report;
  out.plain() << '\n';
  const bool together = group.threads.size() > 1;
  if (together) write_group_head(out, dump, group, options.width);
  for (const ThreadDump* thread : group.threads) {
    if (together && !has_story(dump, *thread)) continue;
    out.paint(Ink::header, wrapped(thread_line(dump, *thread), options.width, "  ") + "\n");
    write_exceptions(out, dump, *thread, options, folder);
    write_crash_registers(out, dump, *thread);
    if (options.registers && has_crash_vectors(dump, *thread))
      write_vectors_text(out, dump.target.arch, *thread->vectors);
  }
  const ThreadDump& shown = *group.threads.front();
  const EvidenceIndex evidence(shown.trace);
  StackText stack{out, dump, shown, options, evidence, user, group.same_addresses};
  write_stack(stack, folder);
}

void write_diagnosis(Painter& out, const Diagnosis& diagnosis) {
  std::string line = escape_for_terminal(diagnosis.subject);
  if (!diagnosis.text.empty()) line += (line.empty() ? "" : ": ") + escape_for_terminal(diagnosis.text);
  if (diagnosis.error.code != ErrorCode::none && diagnosis.text.empty()) line += ": " + error_words(diagnosis.error);
  out.paint(Ink::warning, "  " + line + "\n");
}

/// Facts missing from a runtime are shown when they stop the walk, or when explanations were asked for.
bool shows_missing(const RuntimeSummary& runtime, const ReportOptions& options) {
  return !runtime.missing.empty() && (options.explain || !runtime.walkable);
}

void write_what_failed(Painter& out, const ProcessDump& dump, const std::string& hint, const ReportOptions& options) {
  const std::string words = summary_words(summarize(dump));
  const bool missing = std::any_of(dump.diagnoses.begin(), dump.diagnoses.end(),
                                   [&](const Diagnosis& d) { return !is_told_in_head(dump, d); }) ||
                       std::any_of(dump.runtimes.begin(), dump.runtimes.end(),
                                   [&](const RuntimeSummary& r) { return shows_missing(r, options); });
  if (words.empty() && !missing && hint.empty()) return;
  out.plain() << '\n';
  if (!words.empty()) out.paint(Ink::warning, words + "\n");
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (shows_missing(runtime, options))
      for (const Diagnosis& diagnosis : runtime.missing) write_diagnosis(out, diagnosis);
  // The head of the report has shown the others.
  for (const Diagnosis& diagnosis : dump.diagnoses)
    if (!is_told_in_head(dump, diagnosis)) write_diagnosis(out, diagnosis);
  if (!hint.empty()) out.paint(Ink::faint, wrapped(hint, options.width, "  ") + "\n");
}

std::vector<ThreadView> views_of(const ProcessDump& dump, const UserCode& user, const ReportOptions& options) {
  std::vector<ThreadView> views;
  for (const ThreadDump& thread : dump.threads) {
    ThreadView view{&thread, role_of(dump, thread), false, innermost_user_frame(user, dump, thread)};
    view.is_idle = !options.all && is_idle(dump, thread, view.role, user);
    views.push_back(view);
  }
  return views;
}

/// The thread that crashed, threads with exceptions or code of the program, the others. Equal ranks stay in order.
unsigned rank_of(const ProcessDump& dump, const ThreadView& view) {
  if (dump.target.crash && dump.target.crash->tid == view.thread->tid) return 0;
  return view.has_user_code() || has_story(dump, *view.thread) ? 1 : 2;
}

/// The threads shown with a stack: those that are not idle, or, merged, groups with one that is not.
std::vector<StackGroup> sections_of(const ProcessDump& dump, std::span<const ThreadView> threads,
                                    const ReportOptions& options) {
  std::vector<StackGroup> sections;
  std::unordered_map<const ThreadDump*, unsigned> ranks;  // absent: idle
  for (const ThreadView& view : threads)
    if (!view.is_idle) ranks[view.thread] = rank_of(dump, view);
  if (options.merge) {
    sections = merge_stacks(dump, options);
    // Idle threads of a group are listed with the other idle ones.
    for (StackGroup& group : sections)
      std::erase_if(group.threads, [&](const ThreadDump* thread) { return !ranks.contains(thread); });
    std::erase_if(sections, [](const StackGroup& group) { return group.threads.empty(); });
  } else {
    for (const ThreadView& view : threads)
      if (!view.is_idle) sections.push_back({{view.thread}, true});
  }
  const auto rank = [&](const StackGroup& group) {
    unsigned best = 2;
    for (const ThreadDump* thread : group.threads) best = std::min(best, ranks.at(thread));
    return best;
  };
  std::stable_sort(sections.begin(), sections.end(),
                   [&](const StackGroup& a, const StackGroup& b) { return rank(a) < rank(b); });
  return sections;
}

}  // namespace

void write_text(Writer& writer, const ProcessDump& dump, const ReportOptions& options) {
  Painter out(writer, options.color);
  write_process(out, dump, options);
  const UserCode user = user_code_of(dump);
  const std::vector<ThreadView> threads = views_of(dump, user, options);
  write_user_code(out, dump, threads, user, options);
  if (options.tree) {
    write_tree(out, dump, threads, user, options);
  } else {
    Folder folder(dump, options);
    const Report report{out, dump, options, folder, user};
    for (const StackGroup& group : sections_of(dump, threads, options)) write_group(report, group);
  }
  write_idle(out, threads, options);
  write_async_text(out, dump, options);
  write_what_failed(out, dump, symbols_hint(dump, threads, options), options);
}

}  // namespace mixstack::report
