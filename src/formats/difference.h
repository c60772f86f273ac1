// What changed from one recording to another.
#pragma once

#include <string>

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

// All three count the same samples: of the clock that both have samples of, of the same states. Functions that one of
// both has by name alone (folded stacks) are those of that name in the other; processes are told apart only where both
// have the same ones.

/// In words, what cannot be compared: threads that wait are in one of both, and the other holds only what ran on a
/// processor. Empty: they are of one mode, or of stacks alone.
[[nodiscard]] std::string different_modes(const Recording& before, const Recording& after);

/// "outermost;...;innermost BEFORE AFTER" a stack, as difffolded.pl writes and flamegraph.pl reads. Counts of the first
/// recording are as they would be had it as many samples as the second.
void write_diff_folded(report::Writer& out, const Recording& before, const Recording& after,
                       const ProfileOptions& options);

/// The functions whose share of the time changed most, by self and by total, in percentage points. Different modes are
/// said, here and on the page.
void write_diff_text(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options);

/// A page that shows how the second differs, and begins with the samples that the texts above are of.
void write_diff_html(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options, const std::string& before_name, const std::string& after_name);

}  // namespace mixstack::formats
