// What is said of a picture in which nothing is to be seen.
#pragma once

#include <string>
#include <vector>

#include "cli/program.h"
#include "formats/format.h"
#include "model/recording_view.h"

namespace mixstack::cli {

/// Nothing to see has a reason, which an empty picture does not tell: one line on standard error. Raw recordings and
/// pages hold all there is, and nothing is said of them.
void say_if_empty(const Recording& recording, formats::Format format, const ProfileOptions& options,
                  const Environment& environment);

/// Of the first pattern (model/name_pattern.h) that matches no function of the recording, and would if upper and lower
/// case were the same: a sentence with the name. Empty: there is none.
[[nodiscard]] std::string words_on_case(const Recording& recording, const std::vector<std::string>& include);

}  // namespace mixstack::cli
