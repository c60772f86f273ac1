// Causes by which threads that are ready do not run: a quota, or other processes.
#pragma once

#include <optional>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// A quota stopped it in a fifth of the periods or more.
[[nodiscard]] std::optional<SlowCause> throttled_cause(const KernelEvidence& evidence);

/// Others have the processors that its threads wait for: without them it would run twice as much, and 0.4 processors
/// more. Threads that wait for each other's processor are no cause of this kind, and neither is a quota.
[[nodiscard]] std::optional<SlowCause> crowded_cause(const Counters& before, const Counters& after,
                                                     const KernelEvidence& evidence);

}  // namespace mixstack::why
