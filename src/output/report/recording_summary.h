// The summary of a recording: samples that were taken and lost.
#pragma once

#include <cstdint>
#include <string>

#include "mixstack/recording.h"

namespace mixstack::report {

/// Some lines about samples taken and lost. `stats` adds how long threads were stopped. `is_throttled`: a CPU quota
/// kept threads from running, so ready threads do not mean a busy machine.
[[nodiscard]] std::string summary_text(const Recording& recording, bool stats, bool is_throttled = false);

/// The function that most of the latest samples of running threads end in, and its share of those: "62 % of what runs:
/// Sum". Empty: nothing ran.
[[nodiscard]] std::string hottest_words(const Recording& recording);

/// "12 s, 480 samples, own CPU 0.4 %, 3 lost, 62 % of what runs: Sum": a recording until now.
[[nodiscard]] std::string progress_words(const Recording& recording, std::uint64_t elapsed_ns,
                                         std::uint64_t own_cpu_ns);

}  // namespace mixstack::report
