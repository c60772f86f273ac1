// Options that select the samples and frames of recordings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack::cli {

class OptionSet;

/// Texts of options from the parser.
struct RawProfileOptions {
  std::string clock, states;
  bool no_kernel = false;
};

void declare_profile_options(OptionSet& set, RawProfileOptions& raw, ProfileOptions& options);
/// Returns "" or the error for the user.
[[nodiscard]] std::string read_profile_options(const RawProfileOptions& raw, ProfileOptions& options);
/// Reads --state: "running,waiting"; "gc" is not a state, but can be combined with them.
[[nodiscard]] std::string read_states(std::string_view text, ProfileOptions& options);

}  // namespace mixstack::cli
