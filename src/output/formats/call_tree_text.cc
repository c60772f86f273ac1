#include "output/formats/call_tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/words/view_tree.h"
#include "output/report/escape.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::formats {
namespace {

constexpr std::uint64_t kCut = 200;  // nodes below 1/200 (0.5 %) are left out
constexpr std::size_t kMostFunctions = 30;
constexpr unsigned kMostIndent = 60;

std::string share(std::uint64_t part, const RecordingView& view) {
  return fmt::format("{:>6}%", percent(part, view.shown));
}

/// `view` must not be inverted: self counts of an inverted view belong to the outermost functions.
void write_functions(report::Writer& out, const RecordingView& view) {
  const auto counts = entry_counts(view);
  std::vector<std::uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(counts[b].self, counts[b].total, view.entries[a].name) <
           std::tie(counts[a].self, counts[a].total, view.entries[b].name);
  });
  out << "\n   self   total  kind     function\n";
  std::size_t shown = 0;
  for (const std::uint32_t entry : order) {
    if (counts[entry].self == 0 || shown++ == kMostFunctions) break;
    out << share(counts[entry].self, view) << ' ' << share(counts[entry].total, view)
        << fmt::format("  {:<8} ", view.entries[entry].function == kNoIndex ? "" : word_of(view.entries[entry].kind))
        << report::escape_for_terminal(view.entries[entry].name) << '\n';
  }
}

void write_tree(report::Writer& out, const RecordingView& view, bool inverted) {
  const auto self = view.self_counts(), total = view.total_counts();
  const ViewTree tree(
      view, [&](std::uint32_t a, std::uint32_t b) { return total[a] != total[b] ? total[a] > total[b] : a < b; });
  // Without self counts if inverted: they would count the stacks that begin at a node, not time spent there.
  out << (inverted ? "\n  total  callers of the functions that ran, innermost first\n"
                   : "\n  total    self  calls, outermost first\n");
  unsigned depth = 0;
  tree.walk(
      [&](std::uint32_t node) {
        depth++;
        if (total[node] < view.shown / kCut) return false;
        out << share(total[node], view);
        if (!inverted) out << ' ' << share(self[node], view);
        out << "  ";
        const unsigned indent = std::min((depth - 1) * 2, kMostIndent);
        out << std::string(indent, ' ');
        if ((depth - 1) * 2 > kMostIndent) out << fmt::format("[{}] ", depth);
        out << report::escape_for_terminal(view.entries[view.nodes[node].entry].name) << '\n';
        return true;
      },
      [&](std::uint32_t) { depth--; });
}

using report::counted;

std::string seconds(std::uint64_t ns) { return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9); }

std::string left_out(const RecordingView& view) {
  if (view.left_out == 0) return {};
  const std::uint64_t other = view.left_out - view.idle_left_out;
  std::string text = "# not shown:";
  if (view.idle_left_out != 0)
    text += fmt::format(" {} of waiting threads (--idle)", counted(view.idle_left_out, "sample"));
  if (other != 0) text += fmt::format("{} {} that were not asked for", view.idle_left_out != 0 ? "," : "", other);
  return text + '\n';
}

void write_losses(report::Writer& out, const Recording& recording, const RecordingView& view) {
  const RecordingFacts& facts = recording.facts;
  const RecordingAccount& account = facts.account;
  const std::uint64_t lost =
      account.lost_in_kernel + account.lost_in_queue + account.lost_in_tree + account.lost_to_stops;
  if (lost != 0) out << "# lost: " << counted(lost, "sample") << '\n';
  if (account.skipped != 0)
    out << "# left out: " << counted(account.skipped, "round")
        << " of samples: times are too small by their share, percentages are not\n";
  if (account.cut != 0) out << "# cut: " << counted(account.cut, "stack") << " whose end was not reached\n";
  if (view.too_many != 0) out << "# " << counted(view.too_many, "sample") << " in [too many different stacks]\n";
  for (const std::string& note : facts.notes) out << "# " << report::escape_for_terminal(note) << '\n';
}

void write_bytes_account(report::Writer& out, const Recording& recording, const RecordingView& view) {
  const RecordingFacts& facts = recording.facts;
  out << "# " << report::amount_words(static_cast<double>(view.shown)) << " by "
      << counted(facts.account.samples, "sample");
  if (facts.duration_ns != 0) {
    const double second = static_cast<double>(view.shown) * 1e9 / static_cast<double>(facts.duration_ns);
    out << "; recorded for " << seconds(facts.duration_ns) << ": " << report::amount_words(second) << " a second";
  }
  out << '\n';
  if (view.left_out != 0)
    out << "# not shown: " << report::amount_words(static_cast<double>(view.left_out)) << " that were not asked for\n";
  write_losses(out, recording, view);
}

}  // namespace

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f}", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void write_account(report::Writer& out, const Recording& recording, const RecordingView& view) {
  const RecordingFacts& facts = recording.facts;
  if (view.is_of_bytes()) return write_bytes_account(out, recording, view);
  const std::string_view clock = !view.clock ? "" : *view.clock == SampleClock::cpu ? "processor" : "wall";
  out << "# " << counted(view.shown, "sample");
  if (view.clock && view.period_ns != 0) out << fmt::format(" of {} time", clock);
  if (view.period_ns != 0) out << fmt::format(", {} in all", seconds(view.weight(view.shown)));
  if (facts.duration_ns != 0) out << fmt::format("; recorded for {}", seconds(facts.duration_ns));
  out << '\n';
  if (const std::uint64_t ready = count_of(recording, view, Activity::runnable); ready != 0)
    out << fmt::format("# of these {}% waited for a processor: the threads were ready to run\n",
                       percent(ready, view.shown));
  out << left_out(view);
  write_losses(out, recording, view);
}

void write_text_tree(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  const RecordingView view = view_of(recording, options);
  write_account(out, recording, view);
  if (view.shown == 0) return;
  if (options.inverted) {
    ProfileOptions upright = options;
    upright.inverted = false;
    write_functions(out, view_of(recording, upright));
  } else {
    write_functions(out, view);
  }
  write_tree(out, view, options.inverted);
}

}  // namespace mixstack::formats
