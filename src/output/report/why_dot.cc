#include <fmt/format.h>

#include <set>

#include "output/report/escape.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_pending.h"

namespace mixstack::report {

// Graphviz takes a JSON string without \u escapes for its own; names are printable UTF-8 already.
void write_why_dot(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts) {
  std::set<ThreadId> in_cycle, shown;
  for (const Verdict& v : verdicts)
    if (v.kind == VerdictKind::deadlock)
      for (const VerdictStep& s : v.steps) in_cycle.insert(s.thread);
  out << "digraph why {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  const auto show = [&](ThreadId tid) {
    if (!shown.insert(tid).second) return;
    out << fmt::format("  t{} [shape=box, label={}{}];\n", tid, json_string(thread_words(dump, tid)),
                       in_cycle.contains(tid) ? ", color=red, penwidth=2" : "");
  };
  std::set<Address> objects;
  for (const ThreadDump& t : dump.threads) {
    if (!t.wait || t.wait->object.address == 0) continue;
    const ThreadWait& wait = *t.wait;
    show(t.tid);
    if (objects.insert(wait.object.address).second)
      out << fmt::format("  o{:x} [shape=ellipse, label={}];\n", wait.object.address,
                         json_string(wait.object.type.empty() ? to_string(wait.kind) : wait.object.type));
    out << fmt::format("  t{} -> o{:x} [label=\"waits for{}\"];\n", t.tid, wait.object.address,
                       wait.proof == Proof::likely ? " (likely)" : "");
    for (const ThreadId owner : wait.owners) {
      show(owner);
      out << fmt::format("  o{:x} -> t{} [style=dashed];\n", wait.object.address, owner);
    }
  }
  write_pending_dot(out, dump);
  out << "}\n";
}

}  // namespace mixstack::report
