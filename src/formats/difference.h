// What changed from one recording to another.
#pragma once

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

/// "outermost;...;innermost BEFORE AFTER" a stack, as difffolded.pl writes and flamegraph.pl reads. Counts of the first
/// recording are as they would be had it as many samples as the second.
void write_diff_folded(report::Writer& out, const Recording& before, const Recording& after,
                       const ProfileOptions& options);

/// The functions whose share of the time changed most, by self and by total, in percentage points.
void write_diff_text(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options);

}  // namespace mixstack::formats
