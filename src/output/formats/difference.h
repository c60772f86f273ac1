// Compares two recordings.
#pragma once

#include <string>

#include "base/words/recording_view.h"
#include "output/formats/format.h"
#include "output/report/writer.h"

namespace mixstack::formats {

// All three writers count the same samples: of a clock that both recordings have, and of the same states. A function
// that one recording has by name alone (folded stacks) matches the other's function of that name. Stacks are split by
// process only if both have the same processes.

/// A warning that the recordings have different modes: one holds waiting threads, the other only processor time. Empty:
/// the modes are the same, or one recording was read from folded stacks.
[[nodiscard]] std::string different_modes(const Recording& before, const Recording& after);

/// One line a stack, "outermost;...;innermost BEFORE AFTER", as difffolded.pl writes and flamegraph.pl reads. Counts of
/// the first recording are scaled to the total of the second.
void write_diff_folded(report::Writer& out, const Recording& before, const Recording& after,
                       const ProfileOptions& options);

/// The functions whose share of the time changed most, by self and by total, in percentage points. Here and on the page
/// a note tells different modes.
void write_diff_text(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options);

/// A page that shows how the second differs. Its initial view has the same samples as the texts above.
void write_diff_html(report::Writer& out, const Recording& before, const Recording& after,
                     const ProfileOptions& options, const std::string& before_name, const std::string& after_name);

/// A recording and the file it was read from.
struct RecordingOfFile {
  const Recording& recording;
  const std::string& path;
};
/// One of the above: folded, text, or a page for all other formats.
void write_diff(report::Writer& out, Format format, const RecordingOfFile& before, const RecordingOfFile& after,
                const ProfileOptions& options);

}  // namespace mixstack::formats
