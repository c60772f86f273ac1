// Arguments of `mixstack view`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mixstack::cli {

struct ViewArguments {
  std::string in;          ///< "-": standard input
  std::uint16_t port = 0;  ///< 0: one that is free
};

struct Invocation;
[[nodiscard]] Invocation parse_view(std::vector<std::string> arguments);

}  // namespace mixstack::cli
