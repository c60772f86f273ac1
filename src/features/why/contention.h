// Locks that several threads wait for.
#pragma once

#include <span>
#include <vector>

#include "mixstack/contention.h"
#include "mixstack/dump.h"

namespace mixstack::why {

/// Of a dump with waits those that two threads or more wait for, the most wanted first. Nobody's turn at a semaphore, a
/// queue or an event is a lock, and neither is the end of what others run.
[[nodiscard]] std::vector<Contention> contentions(const ProcessDump& dump);
/// Notes which of them were wanted by several at the look before.
void mark_lasting(std::span<const Contention> before, std::span<Contention> now);

}  // namespace mixstack::why
