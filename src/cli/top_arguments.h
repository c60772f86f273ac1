// What `mixstack top` was asked to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/record_arguments.h"

namespace mixstack::cli {

struct TopArguments {
  RecordArguments record;  ///< one process, how it is sampled, and what is shown
  std::chrono::milliseconds interval{1000};
  std::uint32_t count = 0;  ///< so many tables, without a terminal; 0: until the end
  std::uint32_t rows = 20;  ///< of each of them
  bool whole = false;       ///< shares of the whole run
  bool by_thread = false;
};

struct Invocation;
[[nodiscard]] Invocation parse_top(std::vector<std::string> arguments);

}  // namespace mixstack::cli
