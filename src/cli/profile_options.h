// Options of the commands that show recordings: what is shown of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/recording_view.h"

namespace CLI {
class App;
}

namespace mixstack::cli {

/// The texts as the parser fills them in.
struct RawProfileOptions {
  std::string clock, states;
  bool no_kernel = false;
};

void declare_profile_options(CLI::App& app, RawProfileOptions& raw, ProfileOptions& options);
/// An empty text when all is well.
[[nodiscard]] std::string read_profile_options(const RawProfileOptions& raw, ProfileOptions& options);
/// Of it the states: "running,waiting"; "gc" is one more thing to ask for.
[[nodiscard]] std::string read_states(std::string_view text, ProfileOptions& options);

}  // namespace mixstack::cli
