#include "output/report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words/words.h"

namespace mixstack::report {

Summary summarize(const ProcessDump& dump) {
  Summary summary;
  summary.threads = dump.threads.size();
  for (const ThreadDump& thread : dump.threads) {
    if (!thread.captured) {
      if (words::is_kernel_task(thread.capture_error)) continue;
      (thread.capture_error.code == ErrorCode::no_such_thread ? summary.gone : summary.not_captured)++;
      const bool is_slow = thread.capture_error.code == ErrorCode::thread_not_stopped;
      if (is_slow) (dump.consistency == Consistency::not_stopped ? summary.ran : summary.too_slow)++;
    } else if (thread.trace.stop != StopReason::end_of_stack) {
      summary.cut++;
    }
  }
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (!runtime.walkable) summary.runtimes_not_walkable++;
  for (const Diagnosis& diagnosis : dump.diagnoses)
    if (diagnosis.error.code != ErrorCode::none) summary.failures++;  // else it is a remark
  return summary;
}

bool is_partial(const Summary& summary) {
  return summary.not_captured != 0 || summary.runtimes_not_walkable != 0 || summary.failures != 0;
}

std::string summary_words(const Summary& summary) {
  std::string text;
  const auto add = [&text](const std::string& sentence) {
    if (!text.empty()) text += ' ';
    text += sentence;
  };
  if (summary.not_captured != 0)
    add(fmt::format("{} of {} {} could not be captured.", summary.not_captured, summary.threads,
                    summary.threads == 1 ? "thread" : "threads"));
  if (summary.gone != 0) add(fmt::format("{} thread{} exited meanwhile.", summary.gone, summary.gone == 1 ? "" : "s"));
  if (summary.cut == 1) add("1 stack is cut.");
  if (summary.cut > 1) add(fmt::format("{} stacks are cut.", summary.cut));
  if (summary.runtimes_not_walkable != 0) add("Managed frames are missing.");
  if (summary.ran != 0) add("Threads that run are looked at without --no-stop only.");
  if (summary.too_slow != 0) add("A longer --wait helps threads that only waited for a CPU.");
  return text;
}

std::vector<ThreadId> absent_threads(const ProcessDump& dump, std::span<const ThreadId> asked) {
  std::vector<ThreadId> absent;
  for (const ThreadId tid : asked) {
    const auto same = [tid](const ThreadDump& t) { return t.tid == tid; };
    const auto found = std::find_if(dump.threads.begin(), dump.threads.end(), same);
    if (found == dump.threads.end() || found->capture_error.code == ErrorCode::no_such_thread) absent.push_back(tid);
  }
  return absent;
}

}  // namespace mixstack::report
