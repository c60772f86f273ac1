// Folded stacks, the format of flame graph scripts.
#pragma once

#include <string>

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// One line a stack, "outermost;...;innermost count", sorted; counts are samples. A semicolon in a name becomes a
/// colon, control characters are escaped.
void write_folded(report::Writer& out, const Recording& recording, const ProfileOptions& options);

/// A name as written in such a line.
[[nodiscard]] std::string folded_name(const std::string& name);

}  // namespace mixstack::formats
