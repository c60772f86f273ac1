// Explains an empty picture.
#pragma once

#include <string>
#include <vector>

#include "base/words/recording_view.h"
#include "frontends/cli/program.h"
#include "output/formats/format.h"

namespace mixstack::cli {

/// If no sample is shown, prints the reason on standard error. Not for raw recordings and pages, which hold all
/// samples.
void say_if_empty(const Recording& recording, formats::Format format, const ProfileOptions& options,
                  const Environment& environment);

/// A sentence about the first pattern (base/words/name_pattern.h) that matches no function of the recording only
/// because of upper and lower case, with the function's name. Empty: there is none.
[[nodiscard]] std::string words_on_case(const Recording& recording, const std::vector<std::string>& include);

}  // namespace mixstack::cli
