// Arguments of `mixstack why`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack::cli {

struct WhyArguments {
  std::uint32_t pid = 0;  ///< 0: a core, or a process by name
  std::string name;
  CoreOptions core;  ///< path empty: a process
  bool json = false, dot = false, html = false;
  std::string out;                                    ///< a file; empty: standard output
  std::optional<std::chrono::milliseconds> sample{};  ///< time; none: a second, if something runs; 0: do not sample
  bool heap = false;                                  ///< search the heap for async methods
  std::uint64_t heap_limit = 0;                       ///< bytes of heap above which it is not searched
  bool data = false;                                  ///< the user's own data, too: variables, paths, commands
  std::chrono::milliseconds watch{0};                 ///< time between answers; 0: one answer
};

struct Invocation;
[[nodiscard]] Invocation parse_why(std::vector<std::string> arguments);

}  // namespace mixstack::cli
