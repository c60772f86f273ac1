// What is said of a picture in which nothing is to be seen.
#pragma once

#include "cli/program.h"
#include "formats/format.h"
#include "model/recording_view.h"

namespace mixstack::cli {

/// Nothing to see has a reason, which an empty picture does not tell: one line on standard error. Raw recordings and
/// pages hold all there is, and nothing is said of them.
void say_if_empty(const Recording& recording, formats::Format format, const ProfileOptions& options,
                  const Environment& environment);

}  // namespace mixstack::cli
