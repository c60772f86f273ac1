// Arguments of `mixstack memory`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack::cli {

struct MemoryArguments {
  std::uint32_t pid = 0;  ///< 0: a core, or a process by name
  std::string name;
  CoreOptions core;  ///< path empty: a process
  bool types = false;
  bool holders = false;
  std::string holders_of;  ///< a type or an address; empty: the tree alone
  std::chrono::milliseconds most_pause{50};
  bool json = false;
  std::string out;  ///< a file; empty: standard output
};

struct Invocation;
[[nodiscard]] Invocation parse_memory(std::vector<std::string> arguments);

}  // namespace mixstack::cli
