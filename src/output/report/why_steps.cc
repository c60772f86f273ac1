#include "output/report/why_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/wait_words.h"
#include "output/report/why_pending.h"

namespace mixstack::report {
namespace {

/// Equal ones of a thread that waits for several tasks are told once, with their number.
void write_chains(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  struct Group {
    std::size_t count = 0;
    const AsyncChain* first = nullptr;
  };
  std::map<std::string, Group> groups;
  const auto chains = chains_of(dump, thread.tid);
  for (const AsyncChain* chain : chains) {
    const bool is_elsewhere = chain->end != AsyncEnd::delay;  // the other end, which tells them apart
    Group& g = groups[chain_words(dump, *chain) + (is_elsewhere ? due_words(*chain) : std::string())];
    g.count += chain->count;
    if (g.first == nullptr || (chain->due && g.first->due && *chain->due < *g.first->due)) g.first = chain;
  }
  if (chains.size() == 1) {
    out.plain() << "      awaits: " << chain_words(dump, *chains[0]) << due_words(*chains[0]) << '\n';
    write_values(out, *chains[0], false);
    return;
  }
  std::vector<const Group*> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) sorted.push_back(&group);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  if (!sorted.empty()) out.plain() << "      awaits:\n";
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostSteps); i++) {
    const Group& g = *sorted[i];
    out.plain() << fmt::format("        {} x {}{}\n", g.count, chain_words(dump, *g.first), due_words(*g.first));
    write_values(out, *g.first, g.count > 1);
  }
  if (sorted.size() > kMostSteps)
    out.plain() << fmt::format("        ... and {} more kinds (--json has all)\n", sorted.size() - kMostSteps);
}

}  // namespace

std::string step_words(const ProcessDump& dump, const ThreadDump& thread) {
  std::string words = wait_words(dump, thread);
  if (!words.empty()) return words;
  if (thread.kernel_state == 'R') return "runs";
  return thread.facts.object.empty() ? "waits in the kernel"
                                     : "waits in the kernel: " + escape_for_terminal(thread.facts.object);
}

void write_place(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  if (const std::string place = place_words(dump, thread); !place.empty()) {
    out.plain() << "      at ";
    out.paint(Ink::user, place);
    out.plain() << '\n';
  }
  write_chains(out, dump, thread);
}

void write_step(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  out.plain() << "  thread " << thread_words(dump, thread.tid) << ' ' << step_words(dump, thread);
  out.plain() << '\n';
  write_place(out, dump, thread);
}

}  // namespace mixstack::report
