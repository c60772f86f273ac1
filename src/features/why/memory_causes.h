// Causes by memory that the kernel gives: page faults, and growth outside the heap of a runtime.
#pragma once

#include <optional>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// 20,000 page faults a second or more, all the time, with a third of the processor time in the kernel. `writes`: that
/// time is also known to be of writes, so a storm is told only if it is a large one.
[[nodiscard]] std::optional<SlowCause> page_faults_cause(const Counters& before, const Counters& after,
                                                         const KernelEvidence& evidence, bool writes);

/// Memory that no file backs grows by a megabyte a second or more, steadily, and what the collectors have from the
/// system does not. Nothing where that is not known, and in the first seconds of a process.
[[nodiscard]] std::optional<SlowCause> native_growth_cause(const Counters& before, const Counters& after,
                                                           const KernelEvidence& evidence);

}  // namespace mixstack::why
