// Locks that several threads wait for.
#pragma once

#include <span>
#include <vector>

#include "mixstack/contention.h"
#include "mixstack/dump.h"

namespace mixstack::why {

/// Whether a wait is for a lock: a kind that has an owner, or anything else whose owner is known, except ends of work.
[[nodiscard]] bool is_lock(const ThreadWait& wait);

/// The locks of a dump with waits that at least two threads wait for, the most wanted first. Semaphores, queues and
/// events without an owner are no locks, and neither is the end of a task or thread.
[[nodiscard]] std::vector<Contention> contentions(const ProcessDump& dump);
/// Marks those that several threads waited for at the look before, too.
void mark_lasting(std::span<const Contention> before, std::span<Contention> now);

}  // namespace mixstack::why
