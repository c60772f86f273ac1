// What is wrong at two looks, some time apart: a healthy program has locks that are held and waited for, too.
#pragma once

#include <span>
#include <vector>

#include "mixstack/dump.h"
#include "model/unmoved.h"
#include "model/verdict.h"

namespace mixstack::why {

/// Of the verdicts of the second look those that held at the first one, too: circles of the same threads; the same
/// thread that holds up others which have not got on since; the same suspension by the same thread for the same one. A
/// finalizer's thread runs for some microseconds only between two finalizers: a blocked one is believed where the
/// thread is among `at_rest`, threads that have not run at all for a time in between.
[[nodiscard]] std::vector<Verdict> lasting(const ProcessDump& first, std::span<const Verdict> before,
                                           const ProcessDump& second, std::span<const Verdict> now,
                                           std::span<const ThreadId> at_rest);

/// What has not moved between two looks however far apart: threads that wait for the same and have hardly run, and
/// verdicts that held at both. `since` is the caller's to fill in.
[[nodiscard]] Unmoved unmoved(const ProcessDump& first, std::span<const Verdict> before, const ProcessDump& second,
                              std::span<const Verdict> now);

}  // namespace mixstack::why
