// Requests that a program serves or has sent, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mixstack/address.h"

namespace mixstack {

enum class RequestKind : std::uint8_t {
  incoming,  ///< HTTP, served by Kestrel
  outgoing,  ///< HTTP, sent by HttpClient
  database,  ///< a command of ADO.NET
};
[[nodiscard]] std::string_view to_string(RequestKind kind);

/// One request that is under way. Ids of threads as in the dump.
struct Request {
  RequestKind kind = RequestKind::incoming;
  std::string method;        ///< "GET"; of a command its type
  Address object = 0;        ///< that stands for it
  std::uint32_t thread = 0;  ///< that works on it, or waits for it; 0: none
  std::uint32_t chain = 0;   ///< index into PendingWork::chains (1-based) of async methods that work on it; 0: none
  std::string what;  ///< path, or host and path, or the command's text: only where the user's data were asked for
  std::optional<std::chrono::milliseconds> age;  ///< none: nothing tells it
  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace mixstack
