// The options of a parser (CLI11) as data, for completions and the manual page.
#pragma once

#include <vector>

#include "output/help/command_table.h"

namespace CLI {
class App;
}

namespace mixstack::cli {

using help::OptionShape;

/// All options of a parser, in their order of declaration. Possible words are those of type_name("auto|always|never").
[[nodiscard]] std::vector<OptionShape> option_shapes(const CLI::App& app);

}  // namespace mixstack::cli
