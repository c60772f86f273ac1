#include "why/await_circles.h"

#include <algorithm>
#include <map>
#include <set>

#include "why/waits_for_any.h"

namespace mixstack::why {
namespace {

/// The methods of the circle at the end of a chain, each of which awaits the next; empty: there is none.
std::vector<AsyncStep> circle_of(const AsyncChain& chain) {
  if (chain.end != AsyncEnd::circle) return {};
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

void add_await_circles(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  std::erase_if(verdicts, [](const Verdict& v) { return v.kind == VerdictKind::await_circle; });
  std::map<std::set<Address>, Verdict> circles;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains) {
      auto methods = circle_of(chain);
      if (methods.empty()) continue;
      std::set<Address> boxes;
      for (const AsyncStep& m : methods) boxes.insert(m.box);
      Verdict& verdict = circles[boxes];
      const bool is_certain = chain.proof != Proof::likely && !chain.gives_up;
      if (verdict.methods.empty()) {
        verdict.kind = VerdictKind::await_circle;
        verdict.methods = std::move(methods);
      }
      verdict.is_certain |= is_certain;
      verdict.circles = std::max(verdict.circles, chain.count);
      if (chain.waiter == 0 || waits_for_any(dump, chain.waiter)) continue;
      verdict.steps.push_back({chain.waiter, 0});
      verdict.threads++;
    }
  }
  for (auto& [boxes, verdict] : circles) verdicts.push_back(std::move(verdict));
}

bool are_same_await_circles(const Verdict& a, const Verdict& b) {
  return a.kind == VerdictKind::await_circle && b.kind == a.kind && names_of(a) == names_of(b);
}

}  // namespace mixstack::why
