// An option as its parser knows it: what completions and the manual page are made from.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mixstack::cli {

struct OptionShape {
  std::vector<std::string> names;  ///< "-n", "--name"; of a positional argument its word, "PID"
  bool is_positional = false;
  bool takes_value = false;
  bool takes_many = false;
  std::vector<std::string> choices;  ///< the words it takes, where those are few: of type_name("auto|always|never")
};

/// Everything that a parser has been told, in the order it was.
[[nodiscard]] std::vector<OptionShape> option_shapes(const CLI::App& app);

}  // namespace mixstack::cli
