#include "output/formats/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/words/recording_comparison.h"
#include "base/words/stack_judge.h"
#include "base/words/view_tree.h"
#include "output/formats/call_tree_text.h"
#include "output/formats/folded.h"
#include "output/formats/known_functions.h"
#include "output/formats/page.h"
#include "output/report/escape.h"
#include "output/report/flame_html.h"

namespace mixstack::formats {
namespace {

constexpr std::size_t kMostRows = 30;
constexpr double kLeast = 0.05;  // percentage points; a smaller change would be printed as 0.0

std::set<std::string> processes_in(const Recording& recording) {
  std::set<std::string> names;
  for (std::uint32_t p = 0; p < recording.processes().size(); p++) names.insert(shown_process(recording, p));
  return names;
}

/// Whether it was read from folded stacks, which have no processes (their stacks may begin with a process name).
bool has_no_processes(const Recording& recording) {
  return std::all_of(recording.processes().begin(), recording.processes().end(),
                     [](const RecordedProcess& process) { return process.pid == 0; });
}

struct Seen {
  bool waits = false, wall = false, cpu = false;
  [[nodiscard]] bool is_on_cpu_only() const { return cpu && !wall; }
};

/// The clocks that have samples, and whether any sample is of a waiting thread.
Seen seen_in(const Recording& recording) {
  Seen seen;
  for (const Sample& sample : recording.samples()) {
    const SampleContext& context = recording.contexts()[sample.context];
    seen.waits = seen.waits || waits(context.activity);
    (context.clock == SampleClock::cpu ? seen.cpu : seen.wall) = true;
  }
  return seen;
}

/// Two recordings made comparable: the same functions, processes only if both have the same, and the clocks to compare.
class Pair {
 public:
  Pair(const Recording& before, const Recording& after, const ProfileOptions& options)
      : known_before_(with_known_functions(before, after)),
        known_after_(with_known_functions(after, before)),
        before_(known_before_ ? *known_before_ : before),
        after_(known_after_ ? *known_after_ : after),
        before_options_(options) {
    before_options_.by_process = options.by_process && (has_no_processes(before) || has_no_processes(after) ||
                                                        processes_in(before) == processes_in(after));
    after_options_ = before_options_;
    std::tie(before_options_.clock, after_options_.clock) = compared_clocks(before, after, options);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] RecordingView first_view() const { return view_of(before_, before_options_); }
  [[nodiscard]] RecordingView second_view() const { return view_of(after_, after_options_); }
  [[nodiscard]] const Recording& before() const { return before_; }
  [[nodiscard]] const Recording& after() const { return after_; }
  [[nodiscard]] const ProfileOptions& before_options() const { return before_options_; }
  [[nodiscard]] const ProfileOptions& after_options() const { return after_options_; }

 private:
  std::optional<Recording> known_before_, known_after_;
  const Recording& before_;
  const Recording& after_;
  ProfileOptions before_options_, after_options_;
};

/// Scales a count of the first recording to the total of the second, rounded.
std::uint64_t scaled(std::uint64_t count, const BeforeAfter& shown) {
  if (shown.before == shown.after || shown.before == 0 || shown.after == 0) return count;
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(count) * static_cast<double>(shown.after) / static_cast<double>(shown.before)));
}

void write_rows(report::Writer& out, const Comparison& comparison, BeforeAfter ComparedEntry::*what,
                std::string_view title) {
  const auto change = [&](std::uint32_t e) { return points(comparison.entries[e].*what, comparison.shown); };
  std::vector<std::uint32_t> order(comparison.entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return std::abs(change(a)) > std::abs(change(b)); });
  out << fmt::format("\n{}\n  before    after   points  function\n", title);
  std::size_t rows = 0;
  for (const std::uint32_t e : order) {
    if (rows == kMostRows || std::abs(change(e)) < kLeast) break;
    rows++;
    const BeforeAfter& counts = comparison.entries[e].*what;
    out << fmt::format("{:>7}% {:>7}% {:>+8.1f}  {}\n", percent(counts.before, comparison.shown.before),
                       percent(counts.after, comparison.shown.after), change(e),
                       report::escape_for_terminal(comparison.entries[e].name));
  }
  if (rows == 0) out << "  (none by 0.1 points or more)\n";
}

}  // namespace

std::string different_modes(const Recording& before, const Recording& after) {
  if (has_no_processes(before) || has_no_processes(after)) return {};
  const Seen first = seen_in(before), second = seen_in(after);
  const bool is_first = first.waits && second.is_on_cpu_only(), is_second = second.waits && first.is_on_cpu_only();
  if (!is_first && !is_second) return {};
  return fmt::format(
      "the recordings are of different modes: the one {} holds threads that wait (wall time), the one {} only what ran "
      "on a processor (--mode cpu)",
      is_first ? "before" : "after", is_first ? "after" : "before");
}

void write_diff_folded(report::Writer& out, const Recording& before, const Recording& after,
                       const ProfileOptions& options) {
  const Pair pair(before, after, options);
  const Comparison comparison = compare(pair.first_view(), pair.second_view());
  std::vector<std::string> names;
  for (const ComparedEntry& entry : comparison.entries) names.push_back(folded_name(entry.name));
  RecordingView tree_only;
  tree_only.nodes = comparison.nodes;
  const ViewTree tree(tree_only, [&](std::uint32_t a, std::uint32_t b) {
    return names[comparison.nodes[a].entry] < names[comparison.nodes[b].entry];
  });
  std::string line;
  tree.walk(
      [&](std::uint32_t node) {
        line += (line.empty() ? "" : ";") + names[comparison.nodes[node].entry];
        const BeforeAfter& self = comparison.self[node];
        if (self.before != 0 || self.after != 0)
          ((out << line << ' ').decimal(scaled(self.before, comparison.shown)) << ' ').decimal(self.after) << '\n';
        return true;
      },
      [&](std::uint32_t node) {
        line.resize(line.size() - names[comparison.nodes[node].entry].size());
        if (!line.empty()) line.pop_back();
      });
}

void write_diff_text(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options) {
  ProfileOptions upright = options;  // totals of functions do not depend on the direction of stacks
  upright.inverted = false;
  const Pair pair(before, after, upright);
  const RecordingView first = pair.first_view(), second = pair.second_view();
  const Comparison comparison = compare(first, second);
  out << "# before:\n";
  write_account(out, before, first);
  out << "# after:\n";
  write_account(out, after, second);
  if (const std::string words = different_modes(before, after); !words.empty()) out << "# " << words << '\n';
  if (first.shown == 0 || second.shown == 0) {
    out << "\nOne of both has no samples to compare.\n";
    return;
  }
  write_rows(out, comparison, &ComparedEntry::self, "Share of the time in the function itself");
  write_rows(out, comparison, &ComparedEntry::total, "With what it calls");
}

void write_diff_html(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options, const std::string& before_name, const std::string& after_name) {
  const Pair pair(before, after, options);
  ProfileOptions first_options = pair.before_options(), second_options = pair.after_options();
  if (!options.clock)
    first_options.clock = second_options.clock = std::nullopt;  // the page lets its user choose the clock
  Page first = page_of(pair.before(), first_options), second = page_of(pair.after(), second_options);
  if (const std::string words = different_modes(before, after); !words.empty())
    for (Page* page : {&first, &second}) page->recording.facts.notes.push_back(words);
  report::FlameOptions flame;
  flame.before_name = before_name;
  flame.after_name = after_name;
  flame.before_look = first.look;
  flame.look = second.look;
  flame.before_look.clock = pair.before_options().clock;
  flame.look.clock = pair.after_options().clock;
  report::write_flame_html(out, second.recording, &first.recording, flame);
}

void write_diff(report::Writer& out, Format format, const RecordingOfFile& before, const RecordingOfFile& after,
                const ProfileOptions& options) {
  const auto name = [](const std::string& path) { return path.substr(path.find_last_of('/') + 1); };
  if (format == Format::folded) {
    write_diff_folded(out, before.recording, after.recording, options);
  } else if (format == Format::text) {
    write_diff_text(out, before.recording, after.recording, options);
  } else {
    write_diff_html(out, before.recording, after.recording, options, name(before.path), name(after.path));
  }
}

}  // namespace mixstack::formats
