#include "formats/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "formats/call_tree_text.h"
#include "formats/folded.h"
#include "model/recording_comparison.h"
#include "model/view_tree.h"
#include "report/escape.h"

namespace mixstack::formats {
namespace {

constexpr std::size_t kMostRows = 30;
constexpr double kLeast = 0.05;  // points: what is less is shown as 0.0

/// Rounded, in counts of the second recording.
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

void write_diff_folded(report::Writer& out, const Recording& before, const Recording& after,
                       const ProfileOptions& options) {
  const Comparison comparison = compare(view_of(before, options), view_of(after, options));
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
  const RecordingView first = view_of(before, options), second = view_of(after, options);
  const Comparison comparison = compare(first, second);
  out << "# before:\n";
  write_account(out, before, first);
  out << "# after:\n";
  write_account(out, after, second);
  if (first.shown == 0 || second.shown == 0) {
    out << "\nOne of both has no samples to compare.\n";
    return;
  }
  write_rows(out, comparison, &ComparedEntry::self, "Share of the time in the function itself");
  write_rows(out, comparison, &ComparedEntry::total, "With what it calls");
}

}  // namespace mixstack::formats
