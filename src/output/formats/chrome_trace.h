// Chrome trace format, for chrome://tracing and https://ui.perfetto.dev.
#pragma once

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// The JSON object form of the Trace Event Format: "stackFrames" and "samples", and, since not every viewer shows
/// those, the same as complete events ("X") of each thread: a function in successive samples becomes one event. Times
/// are microseconds since the recording began.
void write_chrome_trace(report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
