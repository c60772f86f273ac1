#include "output/report/flame_options.h"

#include <fmt/format.h>

#include <vector>

#include "base/words/recording_view.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string rate_words(const RecordingFacts& facts) {
  std::string text;
  if (facts.cpu_hertz != 0) text += fmt::format("{} Hz of processor time", facts.cpu_hertz);
  if (facts.wall_hertz != 0) text += fmt::format("{}{} Hz of wall time", text.empty() ? "" : ", ", facts.wall_hertz);
  return text;
}

void append_count(std::string& text, std::uint64_t count, std::string_view words) {
  if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, words);
}

}  // namespace

std::string flame_title(const Recording& recording, const FlameOptions& options) {
  if (!options.title.empty()) return options.title;
  if (recording.processes().empty()) return "mixstack";
  if (recording.processes().size() > 1) return escape_for_terminal(shown_processes(recording));
  const RecordedProcess& only = recording.processes().front();
  if (only.pid == 0) return escape_for_terminal(shown_process(recording, 0));
  return fmt::format("{} (pid {})", only.command.empty() ? only.comm : only.command, only.pid);
}

std::string account_line(const Recording& recording) {
  const RecordingFacts& facts = recording.facts;
  const RecordingAccount& account = facts.account;
  std::string text = counted(account.samples, "sample");
  const bool is_folded = facts.duration_ns == 0 && facts.source.empty();  // who took them may have lost some, too
  if (facts.duration_ns != 0) text += " in " + duration_words(std::chrono::nanoseconds(facts.duration_ns));
  if (const std::string rate = rate_words(facts); !rate.empty()) text += " at " + rate;
  if (!facts.source.empty()) text += " by " + facts.source;
  std::string lost;
  append_count(lost, account.lost_in_kernel, "in the kernel");
  append_count(lost, account.lost_in_queue, "in the queue");
  append_count(lost, account.lost_in_tree, "for want of room");
  append_count(lost, account.lost_to_stops, "of threads that could not be stopped");
  if (!lost.empty()) text += "; lost: " + lost;
  if (lost.empty() && !is_folded) text += "; none lost";
  if (account.cut != 0) text += "; " + counted(account.cut, "incomplete stack");
  if (account.skipped != 0) text += "; " + counted(account.skipped, "skipped round");
  return text;
}

}  // namespace mixstack::report
