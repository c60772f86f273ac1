// How a process runs, in numbers, from counters at two looks.
#pragma once

#include <span>

#include "features/why/counter_change.h"
#include "mixstack/contention.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// Looks at counters closer together than this tell no rates.
inline constexpr std::chrono::milliseconds kLeastBetween{100};

/// A healthy program throws fewer exceptions than this a second.
inline constexpr double kManyExceptions = 50;

/// The growth of a counter, a second; nothing: one of the looks does not tell it, or it went back (another runtime).
[[nodiscard]] std::optional<double> rate(const std::optional<std::uint64_t>& before,
                                         const std::optional<std::uint64_t>& after, double seconds);
/// The sum of a counter of all runtimes; nothing: one of them does not tell it, or there is none.
[[nodiscard]] std::optional<std::uint64_t> sum_of(const Counters& counters,
                                                  std::optional<std::uint64_t> (*get)(const RuntimeCounters&));
/// Collections of all runtimes from a generation on: 0 are all, 2 the full ones.
[[nodiscard]] std::optional<std::uint64_t> collections_of(const Counters& counters, std::size_t generation);
[[nodiscard]] std::optional<std::uint64_t> pauses_of(const Counters& counters);  ///< microseconds
/// Threads that could run and had no processor, on average between the looks; nothing: the kernel does not tell.
[[nodiscard]] std::optional<double> ready_between(const Counters& before, const Counters& after);
/// Processors that it used between the looks; nothing: not known.
[[nodiscard]] std::optional<double> processors_between(const Counters& before, const Counters& after);

/// `dump` is of the last look.
[[nodiscard]] Health health_of(const Counters& before, const Counters& after, const ProcessDump& dump);

/// Whether nothing ran, was allocated or counted between the looks: rates are zero then, however short the time.
[[nodiscard]] bool stands_still(const Counters& before, const Counters& after);
/// Whether the process has used hardly anything since it began: what comes in bursts would show in these sums.
[[nodiscard]] bool was_quiet(const Counters& now, std::chrono::nanoseconds uptime);

/// Whether more exceptions are thrown than a healthy program throws.
[[nodiscard]] bool throws_often(const Counters& before, const Counters& after);

/// The bytes that threads of both looks allocated, a second; those of threads that ended are not told.
[[nodiscard]] std::optional<double> allocated_between(const Counters& before, const Counters& after, double seconds);

/// Whether something is spent that samples show the place of, though no thread ran at a look: exceptions, calls of
/// write, page faults, collections, children, compiled methods, processors used or waited for.
[[nodiscard]] bool spends(const Counters& before, const Counters& after);

/// Whether a thread of a dump waits until something is on a disk.
[[nodiscard]] bool waits_for_a_disk(const ProcessDump& dump);

}  // namespace mixstack::why
