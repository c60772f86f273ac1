// Stacks as lines: what flame graph scripts read, and write.
#pragma once

#include <string>

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

/// "outermost;...;innermost count" a stack, sorted; counts are samples. A semicolon in a name becomes a colon, control
/// characters are escaped.
void write_folded(report::Writer& out, const Recording& recording, const ProfileOptions& options);

/// A name as it stands in such a line.
[[nodiscard]] std::string folded_name(const std::string& name);

}  // namespace mixstack::formats
