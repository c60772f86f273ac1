// Explains an empty picture.
#pragma once

#include <string>
#include <vector>

#include "base/words/recording_view.h"
#include "output/formats/format.h"

namespace mixstack::formats {

/// If no sample is shown, the reason, in lines for the user; else empty. Not for raw recordings and pages, which hold
/// all samples.
[[nodiscard]] std::string empty_words(const Recording& recording, Format format, const ProfileOptions& options);

/// A sentence about the first pattern (base/words/name_pattern.h) that matches no function of the recording only
/// because of upper and lower case, with the function's name. Empty: there is none.
[[nodiscard]] std::string words_on_case(const Recording& recording, const std::vector<std::string>& include);

}  // namespace mixstack::formats
