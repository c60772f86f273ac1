#include "features/why/await_cycles.h"

#include <algorithm>
#include <map>
#include <set>

#include "features/why/waits_for_any.h"

namespace mixstack::why {
namespace {

/// The methods of the cycle at the end of a chain, each of which awaits the next; empty: there is none.
std::vector<AsyncStep> cycle_of(const AsyncChain& chain) {
  if (chain.end != AsyncEnd::cycle) return {};
  const auto is_first = [&](const AsyncStep& s) { return s.box == chain.awaited.address; };
  std::vector<AsyncStep> methods(std::find_if(chain.steps.begin(), chain.steps.end(), is_first), chain.steps.end());
  for (AsyncStep& m : methods) m.values.clear();
  return methods;
}

std::multiset<std::string> names_of(const Verdict& verdict) {
  std::multiset<std::string> names;
  for (const AsyncStep& m : verdict.methods) names.insert(m.method);
  return names;
}

}  // namespace

void add_await_cycles(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  std::erase_if(verdicts, [](const Verdict& v) { return v.kind == VerdictKind::await_cycle; });
  std::map<std::set<Address>, Verdict> cycles;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains) {
      auto methods = cycle_of(chain);
      if (methods.empty()) continue;
      std::set<Address> boxes;
      for (const AsyncStep& m : methods) boxes.insert(m.box);
      Verdict& verdict = cycles[boxes];
      const bool is_certain = chain.proof != Proof::likely && !chain.gives_up;
      if (verdict.methods.empty()) {
        verdict.kind = VerdictKind::await_cycle;
        verdict.methods = std::move(methods);
      }
      verdict.is_certain |= is_certain;
      verdict.may_time_out = !verdict.is_certain && (verdict.may_time_out || chain.gives_up);
      verdict.cycles = std::max(verdict.cycles, chain.count);
      if (chain.waiter == 0 || waits_for_any(dump, chain.waiter)) continue;
      // A thread may wait for several methods of one cycle.
      const auto is_it = [&](const VerdictStep& s) { return s.thread == chain.waiter; };
      if (std::any_of(verdict.steps.begin(), verdict.steps.end(), is_it)) continue;
      verdict.steps.push_back({chain.waiter, 0});
      verdict.threads++;
    }
  }
  for (auto& [boxes, verdict] : cycles) verdicts.push_back(std::move(verdict));
}

bool are_same_await_cycles(const Verdict& a, const Verdict& b) {
  return a.kind == VerdictKind::await_cycle && b.kind == a.kind && names_of(a) == names_of(b);
}

}  // namespace mixstack::why
