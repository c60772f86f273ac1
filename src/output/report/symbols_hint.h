// Where a report says how names may be had.
#pragma once

#include <span>
#include <string>

#include "mixstack/dump.h"
#include "mixstack/report.h"
#include "output/report/overview.h"

namespace mixstack::report {

/// One line that tells how names may be had, where many of the shown native frames have none; else empty. A few say
/// what they have to say by their module.
[[nodiscard]] std::string symbols_hint(const ProcessDump& dump, std::span<const ThreadView> threads,
                                       const ReportOptions& options);

}  // namespace mixstack::report
