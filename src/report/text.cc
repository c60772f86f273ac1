#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/crash_text.h"
#include "report/escape.h"
#include "report/frame_view.h"
#include "report/merge.h"
#include "report/summary.h"
#include "report/text_exception.h"
#include "report/text_frame.h"
#include "report/vector_text.h"
#include "report/words.h"

namespace mixstack::report {
namespace {

std::string runtimes_text(const ProcessDump& dump) {
  if (dump.runtimes.empty()) return "no .NET runtime";
  std::string text;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!text.empty()) text += ", ";
    text += escape_for_terminal(runtime.kind) + " ";
    text += runtime.version.empty() ? "of unknown version" : escape_for_terminal(runtime.version);
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

void write_process(Painter& out, const ProcessDump& dump) {
  const TargetInfo& target = dump.target;
  const std::size_t count = dump.threads.size();
  const bool is_core = !target.core_path.empty();
  out.paint(Ink::header, fmt::format("{} {}: {}\n", is_core ? "Core of process" : "Process", target.pid,
                                     escape_for_terminal(target.executable.empty() ? target.comm : target.executable)));
  if (target.command_line.size() > 1) {
    out.plain() << ' ';
    for (const std::string& argument : target.command_line) out.plain() << ' ' << escape_for_terminal(argument);
    out.plain() << '\n';
  }
  out.plain() << fmt::format("  {}, {}, {} thread{}{}\n", runtimes_text(dump), arch_name(target.arch), count,
                             count == 1 ? "" : "s", is_core ? "" : ", " + pause_text(dump));
  write_crash(out, dump);
}

std::string doing(const ProcessDump& dump, const ThreadDump& thread) {
  // A core tells the state of one thread only, and that one was dying.
  std::string text(dump.target.core_path.empty() ? kernel_state_words(thread.kernel_state) : "");
  const std::string call = syscall_words(dump.target.arch, thread.syscall);
  if (!call.empty()) text += (text.empty() ? "in " : " in ") + call;
  return text;
}

std::string thread_text(const ProcessDump& dump, const ThreadDump& thread) {
  std::string text = fmt::format("Thread {}", thread.tid);
  if (thread.ns_tid != 0 && thread.ns_tid != thread.tid) text += fmt::format(" (inside {})", thread.ns_tid);
  if (!thread.comm.empty()) text += fmt::format(" {}", escape_for_terminal(thread.comm));
  if (thread.managed) {
    text += fmt::format(", managed {}", thread.managed->managed_id);
    if (!thread.managed->name.empty()) text += fmt::format(" \"{}\"", escape_for_terminal(thread.managed->name));
    text += thread.managed->cooperative ? ", cooperative" : ", preemptive";
  }
  if (const std::string state = doing(dump, thread); !state.empty()) text += ", " + state;
  if (thread.late.count() > 0)
    text += fmt::format(", late by {:.1f} ms", static_cast<double>(thread.late.count()) / 1e6);
  if (thread.managed && !thread.managed->exception_type().empty())
    text += ", exception " + escape_for_terminal(thread.managed->exception_type());
  return text;
}

void write_stop(const StackText& stack) {
  const ThreadDump& thread = stack.thread;
  std::string words = std::string(stop_words(thread.captured ? thread.trace.stop : StopReason::not_captured));
  const Error& error = thread.captured ? thread.trace.stop_error : thread.capture_error;
  if (error.code != ErrorCode::none) words += ": " + error_words(error);
  stack.out.paint(Ink::warning, fmt::format("--- {}: {}\n", thread.captured ? "stack cut" : "no stack", words));
}

/// Frames are numbered as they are in the trace; repeats count shown frames only.
void write_stack(const StackText& stack, Folder& folder) {
  const auto& [out, dump, thread, options, evidence, show_addresses] = stack;
  const auto repeats = options.fold ? folder.repeats(thread) : std::vector<Repeat>{};
  auto next = repeats.begin();
  std::size_t shown = 0;
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    if (!is_shown(thread.trace.frames[i], options)) continue;
    const std::size_t number = shown++;
    if (next != repeats.end() && number == next->end()) next++;
    if (next == repeats.end() || number < next->first + next->period) {
      write_frame(stack, i);
    } else if (number == next->first + next->period) {
      out.paint(Ink::faint, fmt::format("{:<21}{}\n", "", repeat_words(*next)));
    }
  }
  const bool any = shown != 0;
  if (!any && thread.captured) out.paint(Ink::faint, options.managed_only ? "no managed frame\n" : "no frame\n");
  if (is_cut(thread)) write_stop(stack);
}

void write_group(Painter& out, const ProcessDump& dump, const StackGroup& group, const ReportOptions& options,
                 Folder& folder) {
  out.plain() << '\n';
  if (group.threads.size() > 1)
    out.paint(Ink::header, fmt::format("{} threads with this stack{}\n", group.threads.size(),
                                       group.same_addresses ? "" : " (at different addresses)"));
  for (const ThreadDump* thread : group.threads) {
    out.paint(Ink::header, thread_text(dump, *thread) + "\n");
    write_exceptions(out, dump, *thread, options, folder);
    write_crash_registers(out, dump, *thread);
    if (options.registers && has_crash_vectors(dump, *thread))
      write_vectors_text(out, dump.target.arch, *thread->vectors);
  }
  const ThreadDump& shown = *group.threads.front();
  const EvidenceIndex evidence(shown.trace);
  write_stack({out, dump, shown, options, evidence, group.same_addresses}, folder);
}

void write_diagnosis(Painter& out, const Diagnosis& diagnosis) {
  std::string line = escape_for_terminal(diagnosis.subject);
  if (!diagnosis.text.empty()) line += (line.empty() ? "" : ": ") + escape_for_terminal(diagnosis.text);
  if (diagnosis.error.code != ErrorCode::none && diagnosis.text.empty()) line += ": " + error_words(diagnosis.error);
  out.paint(Ink::warning, "  " + line + "\n");
}

/// What a runtime does not tell about itself matters when it stops the walk, or to someone who asked for explanations.
bool shows_missing(const RuntimeSummary& runtime, const ReportOptions& options) {
  return !runtime.missing.empty() && (options.explain || !runtime.walkable);
}

void write_what_failed(Painter& out, const ProcessDump& dump, const ReportOptions& options) {
  const std::string words = summary_words(summarize(dump));
  const bool missing =
      !dump.diagnoses.empty() || std::any_of(dump.runtimes.begin(), dump.runtimes.end(),
                                             [&](const RuntimeSummary& r) { return shows_missing(r, options); });
  if (words.empty() && !missing) return;
  out.plain() << '\n';
  if (!words.empty()) out.paint(Ink::warning, words + "\n");
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (shows_missing(runtime, options))
      for (const Diagnosis& diagnosis : runtime.missing) write_diagnosis(out, diagnosis);
  for (const Diagnosis& diagnosis : dump.diagnoses) write_diagnosis(out, diagnosis);
}

}  // namespace

void write_text(Writer& writer, const ProcessDump& dump, const ReportOptions& options) {
  Painter out(writer, options.color);
  write_process(out, dump);
  Folder folder(dump, options);
  if (options.merge) {
    for (const StackGroup& group : merge_stacks(dump, options)) write_group(out, dump, group, options, folder);
  } else {
    for (const ThreadDump& thread : dump.threads) write_group(out, dump, StackGroup{{&thread}, true}, options, folder);
  }
  write_what_failed(out, dump, options);
}

}  // namespace mixstack::report
