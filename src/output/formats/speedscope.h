// speedscope format, for https://www.speedscope.app and its offline page.
#pragma once

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// Its native format (file-format-schema.json of npm speedscope), profiles of type "sampled": stacks and weights in
/// order of time, successive equal stacks merged; with `by_thread` one profile per thread. Weights are nanoseconds, or
/// samples where the rate is not known. Profiles too large for a browser (20 million frames in stacks) have every stack
/// once, heaviest first, and their names say so.
void write_speedscope(report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
