// For https://www.speedscope.app and its page without a network.
#pragma once

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

/// Its own format (file-format-schema.json of npm speedscope), profiles of type "sampled": stacks and weights in order
/// of time, equal stacks that follow each other put together; by thread one profile each. Weights are nanoseconds, or
/// samples where the rate is not known. What would be too large for a browser (20 million places in stacks) has every
/// stack once, heaviest first, which the profile's name says.
void write_speedscope(report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
