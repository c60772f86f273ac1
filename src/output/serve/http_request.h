// The head of an HTTP/1.1 request (RFC 9112, sections 3 and 5), as far as this server needs it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mixstack::serve {

inline constexpr std::size_t kMostHead = 16 << 10;  ///< bytes

struct HttpRequest {
  std::string method{};
  std::string path{};   ///< "/a/b", as sent: no escapes are undone
  std::string query{};  ///< what follows "?"
  std::string host{};   ///< lower case; empty: none
};

/// Length of the head at the beginning of `bytes`, the empty line included; 0: incomplete.
[[nodiscard]] std::size_t head_size(std::string_view bytes);

/// Nothing: not a request of HTTP/1.x, two Host fields, or a body.
[[nodiscard]] std::optional<HttpRequest> parse_request(std::string_view head);

/// Value of a decimal parameter of a query: "after=12"; nothing: missing, or no number.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view query, std::string_view name);

}  // namespace mixstack::serve
