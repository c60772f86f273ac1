// Which functions somebody means: by a part of the name, or by a pattern with * and ?.
#pragma once

#include <string_view>

namespace mixstack {

/// A pattern without * and ? matches every name that it is a part of; one with them must match the whole name: * any
/// characters, also none, ? one. Takes at most the product of both lengths: there is no pattern that hangs.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace mixstack
