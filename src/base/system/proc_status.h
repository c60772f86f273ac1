// The lines "Key:\tvalue" of /proc/PID/status and files like it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mixstack::base {

/// The value of a line `Key:\tvalue`, from its first character that is no blank to the end of the line.
[[nodiscard]] std::optional<std::string_view> status_field(std::string_view status, std::string_view key);
/// The first number of such a line; 0: there is none.
[[nodiscard]] std::uint64_t status_number(std::string_view status, std::string_view key, int base = 10);
/// /proc/self/status; empty: not readable.
[[nodiscard]] std::string own_status();

}  // namespace mixstack::base
