// The options of a parser (CLI11) as data, for completions and the manual page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mixstack::cli {

struct OptionShape {
  std::vector<std::string> names;  ///< "-n", "--name"; for a positional argument "PID"
  bool is_positional = false;
  bool takes_value = false;
  bool takes_many = false;
  std::vector<std::string> choices;  ///< the possible words, from type_name("auto|always|never"); empty: any
};

/// All options of a parser, in their order of declaration.
[[nodiscard]] std::vector<OptionShape> option_shapes(const CLI::App& app);

}  // namespace mixstack::cli
