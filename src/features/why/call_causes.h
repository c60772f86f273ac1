// Causes by the system calls that are made: many writes of few bytes, and waits for a disk.
#pragma once

#include <optional>
#include <string_view>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// 10,000 writes a second or more, of 256 bytes or less each, that cost a tenth of a processor in the kernel.
[[nodiscard]] std::optional<SlowCause> writes_cause(const Counters& before, const Counters& after,
                                                    const KernelEvidence& evidence);

/// 10,000 packets a second or more, of 256 bytes or less each, to others that do not answer each of them, at the same
/// price. A call that sends is not counted by the kernel's counters of writes; it makes one packet at least, or its
/// bytes wait for those of the next one.
[[nodiscard]] std::optional<SlowCause> sends_cause(const Counters& before, const Counters& after,
                                                   const KernelEvidence& evidence);
/// The kernel puts what is sent faster into packets of many calls: then what each byte costs tells that calls send few
/// of them. `processors`: spent in calls that send.
[[nodiscard]] std::optional<SlowCause> costly_sends_cause(const KernelEvidence& evidence, double processors);
/// `SlowCause::place_of` of such a cause: samples of its kind are those in calls that send.
inline constexpr std::string_view kSent = "sent";

/// In a quarter of the looks or more a thread waited for a disk.
[[nodiscard]] std::optional<SlowCause> disk_cause(const Counters& before, const Counters& after,
                                                  const KernelEvidence& evidence);

}  // namespace mixstack::why
