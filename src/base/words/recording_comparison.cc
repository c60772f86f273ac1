#include "base/words/recording_comparison.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "base/words/view_tree.h"

namespace mixstack {
namespace {

using Count = std::uint64_t BeforeAfter::*;

class Comparer {
 public:
  Comparer() {
    result_.nodes.emplace_back();
    result_.self.emplace_back();
  }
  void add(const RecordingView& view, Count count);
  Comparison take() { return std::move(result_); }

 private:
  std::uint32_t entry_of(const ViewEntry& entry);
  std::uint32_t child(std::uint32_t parent, std::uint32_t entry);

  Comparison result_;
  std::map<std::pair<std::string, CodeKind>, std::uint32_t> entries_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

std::uint32_t Comparer::entry_of(const ViewEntry& entry) {
  const auto next = static_cast<std::uint32_t>(result_.entries.size());
  const auto [at, is_new] = entries_.try_emplace({entry.name, entry.kind}, next);
  if (is_new) result_.entries.push_back({.name = entry.name, .kind = entry.kind});
  return at->second;
}

std::uint32_t Comparer::child(std::uint32_t parent, std::uint32_t entry) {
  const auto next = static_cast<std::uint32_t>(result_.nodes.size());
  const auto [at, is_new] = children_.try_emplace(std::uint64_t{parent} << 32 | entry, next);
  if (is_new) {
    result_.nodes.push_back({parent, entry});
    result_.self.emplace_back();
  }
  return at->second;
}

void Comparer::add(const RecordingView& view, Count count) {
  std::vector<std::uint32_t> entries, nodes(view.nodes.size());
  for (const ViewEntry& entry : view.entries) entries.push_back(entry_of(entry));
  for (std::size_t n = 1; n < view.nodes.size(); n++)
    nodes[n] = child(nodes[view.nodes[n].parent], entries[view.nodes[n].entry]);
  const auto self = view.self_counts();
  for (std::size_t n = 1; n < self.size(); n++) result_.self[nodes[n]].*count += self[n];
  const auto counts = entry_counts(view);
  for (std::size_t e = 0; e < counts.size(); e++) {
    result_.entries[entries[e]].self.*count += counts[e].self;
    result_.entries[entries[e]].total.*count += counts[e].total;
  }
  result_.shown.*count = view.shown;
}

}  // namespace

Comparison compare(const RecordingView& before, const RecordingView& after) {
  Comparer comparer;
  comparer.add(before, &BeforeAfter::before);
  comparer.add(after, &BeforeAfter::after);
  return comparer.take();
}

double points(const BeforeAfter& counts, const BeforeAfter& shown) {
  if (shown.before == 0 || shown.after == 0) return 0;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  return share(counts.after, shown.after) - share(counts.before, shown.before);
}

}  // namespace mixstack
