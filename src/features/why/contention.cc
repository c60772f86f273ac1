#include "features/why/contention.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/words/event_wait.h"
#include "base/words/wait_kinds.h"

namespace mixstack::why {

bool is_lock(const ThreadWait& wait) {
  switch (wait.kind) {
    case WaitKind::monitor:
    case WaitKind::lock:
    case WaitKind::reader_writer_lock:
    case WaitKind::class_constructor:
    case WaitKind::native_mutex:
    case WaitKind::native_rwlock:
      return true;
    case WaitKind::wait_handle:
      return !is_event(wait) || !wait.owners.empty();
    default: {
      const WaitKindFacts& facts = facts_of(wait.kind);
      return !wait.owners.empty() && !facts.is_for_an_end && !facts.is_for_any;
    }
  }
}

std::vector<Contention> contentions(const ProcessDump& dump) {
  std::map<std::pair<WaitKind, Address>, Contention> by_object;
  for (const ThreadDump& t : dump.threads) {
    if (!t.wait || t.wait->object.address == 0 || !is_lock(*t.wait)) continue;
    Contention& c = by_object[{t.wait->kind, t.wait->object.address}];
    if (c.waiters.empty()) {
      c.kind = t.wait->kind;
      c.proof = t.wait->proof;
      c.object = t.wait->object;
    }
    c.proof = std::max(c.proof, t.wait->proof);
    c.waiters.push_back(t.tid);
    for (const std::uint32_t owner : t.wait->owners)
      if (std::find(c.owners.begin(), c.owners.end(), owner) == c.owners.end()) c.owners.push_back(owner);
  }
  std::vector<Contention> found;
  for (auto& [object, contention] : by_object)
    if (contention.waiters.size() > 1) found.push_back(std::move(contention));
  std::stable_sort(found.begin(), found.end(),
                   [](const Contention& a, const Contention& b) { return a.waiters.size() > b.waiters.size(); });
  return found;
}

void mark_lasting(std::span<const Contention> before, std::span<Contention> now) {
  for (Contention& c : now)
    c.is_lasting = std::any_of(before.begin(), before.end(), [&](const Contention& b) {
      return b.kind == c.kind && b.object.address == c.object.address;
    });
}

}  // namespace mixstack::why
