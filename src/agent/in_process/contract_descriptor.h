// The contract descriptor of the runtime in our own process: the layouts of its structures.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mixstack::agent {

/// The JSON of the runtime's contract descriptor (docs/design/datacontracts/contract-descriptor.md in dotnet/runtime);
/// empty: it has none. Valid while the runtime is loaded. Not for signal handlers.
[[nodiscard]] std::string_view own_descriptor();
/// The JSON object of a type's fields, `{...}`; empty: not described.
[[nodiscard]] std::string_view type_in(std::string_view json, std::string_view type);
/// The number after `"key":`, decimal or a string of hexadecimal digits, plain or the first of an array.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view json, std::string_view key);

}  // namespace mixstack::agent
