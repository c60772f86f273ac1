// The build id of our own executable.
#pragma once

#include <string>

namespace mixstack::base {

/// As hexadecimal digits; empty: none.
[[nodiscard]] std::string own_build_id();

}  // namespace mixstack::base
