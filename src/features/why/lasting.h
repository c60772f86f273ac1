// What is wrong at two looks, some time apart: a healthy program has locks that are held and waited for, too.
#pragma once

#include <span>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/unmoved.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// Of the verdicts of the second look those that held at the first one, too: cycles of the same threads or async
/// methods; the same thread that holds up enough others which have not got on since; the same suspension by the same
/// thread for the same one. Who gets a lock for a moment, and waits for it again, runs for some microseconds only, and
/// so does a finalizer's thread between two finalizers: those whom one holds up, and a finalizer that waits, are
/// believed where their threads are among `at_rest`, threads that have not run at all for a time in between.
[[nodiscard]] std::vector<Verdict> lasting(const ProcessDump& first, std::span<const Verdict> before,
                                           const ProcessDump& second, std::span<const Verdict> now,
                                           std::span<const ThreadId> at_rest);

/// Threads of a verdict that must be at rest for some time to be believed; empty: there are none.
[[nodiscard]] std::vector<ThreadId> must_rest(const ProcessDump& dump, const Verdict& verdict);

/// What has not moved between two looks however far apart: threads that wait for the same and have hardly run, and
/// verdicts that held at both. `since` is the caller's to fill in.
[[nodiscard]] Unmoved unmoved(const ProcessDump& first, std::span<const Verdict> before, const ProcessDump& second,
                              std::span<const Verdict> now);

}  // namespace mixstack::why
