// Threads that must not run between two looks.
#pragma once

#include <span>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// Whether any thread of a verdict has run since its facts were read. If the whole process used no processor time, its
/// one clock answers for all.
[[nodiscard]] bool has_run(const ProcessDump& dump, const Verdict& verdict);

/// Lets time pass between two looks: longer where threads must be at rest, as long as enough of them are. Finalizers
/// seldom wait, and then mostly not for long; healthy programs hold a lock for a while, too, in which they fill a cache
/// or ask a database. Returns the threads that have not run at all for that time: they are in the same call of the same
/// method.
[[nodiscard]] std::vector<ThreadId> rest(const ProcessDump& dump, std::span<const Verdict> verdicts);

}  // namespace mixstack::why
