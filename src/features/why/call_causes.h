// Causes by the system calls that are made: many writes of few bytes, and waits for a disk.
#pragma once

#include <optional>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// 10,000 writes a second or more, of 256 bytes or less each, that cost a tenth of a processor in the kernel.
[[nodiscard]] std::optional<SlowCause> writes_cause(const Counters& before, const Counters& after,
                                                    const KernelEvidence& evidence);

/// In a quarter of the looks or more a thread waited for a disk.
[[nodiscard]] std::optional<SlowCause> disk_cause(const Counters& before, const Counters& after,
                                                  const KernelEvidence& evidence);

}  // namespace mixstack::why
