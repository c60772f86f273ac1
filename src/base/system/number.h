// Numbers in text, as files of the kernel have them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace mixstack::base {

/// The number at the beginning of a text, behind blanks and tabs. Nothing: no number is there, or it is too large.
template <class Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text, int base = 10) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// A number and nothing else.
template <class Number>
[[nodiscard]] std::optional<Number> number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace mixstack::base
