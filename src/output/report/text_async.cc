#include "output/report/text_async.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

struct Group {
  const AsyncChain* first = nullptr;
  std::uint64_t count = 0;
  std::vector<ThreadId> waiters;
  std::size_t order = 0;
};

std::vector<Group> groups_of(const ProcessDump& dump, const PendingWork& pending, bool merge) {
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < pending.chains.size(); i++) {
    const AsyncChain& chain = pending.chains[i];
    if (chain.steps.empty()) continue;
    std::string key = merge ? end_words(dump, chain) : std::to_string(i);
    if (merge)
      for (const AsyncStep& step : chain.steps) key += '\n' + step.method;
    Group& g = groups[key];
    if (g.first == nullptr) g.order = i;
    if (g.first == nullptr || (chain.due && g.first->due && *chain.due < *g.first->due)) g.first = &chain;
    g.count += chain.count;
    if (chain.waiter != 0) g.waiters.push_back(chain.waiter);
  }
  std::vector<Group> sorted;
  sorted.reserve(groups.size());
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::sort(sorted.begin(), sorted.end(), [merge](const Group& a, const Group& b) {
    return merge && a.count != b.count ? a.count > b.count : a.order < b.order;
  });
  return sorted;
}

std::string head(const ProcessDump& dump, const Group& group) {
  const AsyncChain& chain = *group.first;
  std::string text = group.count == 1 ? "Async chain" : fmt::format("{} async chains", group.count);
  text += fmt::format(": the innermost {}{}", end_words(dump, chain), due_words(chain));
  if (chain.proof == Proof::likely) text += " (likely)";
  if (group.waiters.size() == 1) text += fmt::format(", thread {} waits for it", thread_words(dump, group.waiters[0]));
  if (group.waiters.size() > 1) text += fmt::format(", {} threads wait for them", group.waiters.size());
  return text;
}

}  // namespace

void write_async_text(Painter& out, const ProcessDump& dump, const ReportOptions& options) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    const PendingWork& pending = *runtime.pending;
    for (const Group& group : groups_of(dump, pending, options.merge)) {
      out.plain() << '\n';
      out.paint(Ink::header, head(dump, group));
      out.plain() << '\n';
      if (group.first->is_cut) out.plain() << "    ...\n";
      for (auto step = group.first->steps.rbegin(); step != group.first->steps.rend(); ++step)
        out.plain() << "    " << escape_for_terminal(step->method) << '\n';
    }
    out.plain() << '\n';
    if (pending.has_more_chains) out.plain() << "There are more async chains than these.\n";
    if (pending.heap) {
      out.plain() << "Heap: " << heap_words(*pending.heap) << '\n';
    } else if (!pending.no_heap.empty()) {
      out.plain() << "The heap was not searched: " << escape_for_terminal(pending.no_heap) << '\n';
    } else {
      out.plain() << "Async chains that no thread, timer or queue leads to are found with --heap.\n";
    }
  }
}

}  // namespace mixstack::report
