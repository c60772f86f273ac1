// A flame graph as an SVG picture: no scripts, nothing to load; names and figures as tooltips of boxes.
#pragma once

#include "mixstack/recording.h"
#include "output/report/flame_options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// SVG 1.1, valid XML whatever names hold. Boxes below `least_width` and rows beyond 1000 are left out, which the
/// picture says.
void write_flame_svg(Writer& out, const Recording& recording, const FlameOptions& options);

}  // namespace mixstack::report
