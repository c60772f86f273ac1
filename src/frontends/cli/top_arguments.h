// Arguments of `mixstack top`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "frontends/cli/record_arguments.h"

namespace mixstack::cli {

struct TopArguments {
  RecordArguments record;  ///< one process, the kind of samples, the selection of stacks
  std::chrono::milliseconds interval{1000};
  std::uint32_t count = 0;  ///< number of tables, without a terminal; 0: until the end
  std::uint32_t rows = 20;  ///< of each table
  bool whole = false;       ///< shares of the whole run
  bool by_thread = false;
};

struct Invocation;
[[nodiscard]] Invocation parse_top(std::vector<std::string> arguments);

}  // namespace mixstack::cli
