// Verdicts that hold at two looks, some time apart: a healthy program has locks that are held and waited for, too.
#pragma once

#include <span>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/unmoved.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// Verdicts of the second look that held at the first one, too: cycles of the same threads or async methods; the same
/// thread that blocks enough others which made no progress since; the same suspension by the same thread for the same
/// one. A thread that gets a lock for a moment and waits again runs only some microseconds, and so does the finalizer
/// thread between two finalizers. Threads blocked by one owner, and a waiting finalizer, therefore count only if they
/// are among `at_rest`, the threads that have not run at all for a time in between.
[[nodiscard]] std::vector<Verdict> lasting(const ProcessDump& first, std::span<const Verdict> before,
                                           const ProcessDump& second, std::span<const Verdict> now,
                                           std::span<const ThreadId> at_rest);

/// The starvation of a pool of four workers or more that both looks prove, where no work was done between them: the
/// same worker waits for what is queued, and no less is queued than before. One of two looks at a pool that is starved
/// may find a worker that goes on for a moment; among more looks there are two that do not.
[[nodiscard]] std::vector<Verdict> proved_starvation(const ProcessDump& first, const ProcessDump& second);

/// Whether a later look shows that a thread which is waited for (the last step of a chain) has let go: who waited for
/// it directly waits for another owner. Where it is not seen whom it waits for, nothing is shown.
[[nodiscard]] bool has_another_owner(const ProcessDump& later, const Verdict& chain);

/// Threads of a verdict that must be at rest for some time to be believed; empty: there are none.
[[nodiscard]] std::vector<ThreadId> must_rest(const ProcessDump& dump, const Verdict& verdict);

/// The threads that wait for the same object at both looks, however far apart, and have hardly run, and verdicts that
/// held at both. The caller fills in `since`.
[[nodiscard]] Unmoved unmoved(const ProcessDump& first, std::span<const Verdict> before, const ProcessDump& second,
                              std::span<const Verdict> now);

}  // namespace mixstack::why
