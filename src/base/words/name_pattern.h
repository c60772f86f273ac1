// Selects functions by a part of the name, or by a pattern with * and ?.
#pragma once

#include <string_view>

namespace mixstack {

/// A pattern without * and ? matches every name that contains it. With them it must match the whole name: * stands for
/// any characters or none, ? for one. Takes at most the product of both lengths: no pattern causes exponential
/// backtracking.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace mixstack
