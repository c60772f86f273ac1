#include "features/why/processes.h"

#include <algorithm>

namespace mixstack::why {
namespace {

using Back = OtherProcess::WaitsForUs;

bool is_cycle(const OtherProcess& other) {
  return other.waits_for_us == Back::is_held_up || (other.waits_for_us == Back::may && other.holds);
}

/// All that a thread waits for, one of which would do.
template <class Is>
bool are_all(const ThreadWait& wait, Is is) {
  return !wait.processes.empty() && std::all_of(wait.processes.begin(), wait.processes.end(), is);
}

}  // namespace

void add_processes(const ProcessDump& dump, std::vector<Verdict>& verdicts) {
  for (const ThreadDump& thread : dump.threads) {
    if (!thread.wait || thread.wait->timeout || thread.wait->gives_up) continue;
    const bool are_stopped = are_all(*thread.wait, [](const OtherProcess& p) { return p.is_stopped; });
    if (!are_stopped && !are_all(*thread.wait, is_cycle)) continue;
    Verdict& verdict = verdicts.emplace_back();
    verdict.kind = are_stopped ? VerdictKind::stopped_process : VerdictKind::process_cycle;
    verdict.is_certain = are_stopped && thread.wait->proof != Proof::likely;
    verdict.threads = 1;
    verdict.steps.push_back({thread.tid, 0});
  }
}

bool are_same_processes(const ThreadWait& first, const ThreadWait& second) {
  return std::equal(first.processes.begin(), first.processes.end(), second.processes.begin(), second.processes.end(),
                    [](const OtherProcess& a, const OtherProcess& b) {
                      return a.pid == b.pid && a.thread == b.thread && a.doing == b.doing && a.cpu == b.cpu;
                    });
}

}  // namespace mixstack::why
