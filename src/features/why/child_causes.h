// The cause that a process starts programs all the time.
#pragma once

#include <optional>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// Three children a second or more that cost something, or ten. Where starts were not seen: what the children used.
[[nodiscard]] std::optional<SlowCause> children_cause(const Counters& before, const Counters& after,
                                                      const KernelEvidence& evidence);

}  // namespace mixstack::why
