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

/// One request in progress. Thread ids are those of the dump.
struct Request {
  RequestKind kind = RequestKind::incoming;
  std::string method;        ///< "GET"; for a command, its type
  Address object = 0;        ///< the object of the request in the target
  std::uint32_t thread = 0;  ///< the thread that works on it or waits for it; 0: none
  std::uint32_t chain = 0;   ///< 1-based index into PendingWork::chains of the async methods that work on it; 0: none
  std::string what;          ///< path, host and path, or the command's text; only with `DumpOptions::data`
  std::optional<std::chrono::milliseconds> age;  ///< none: not known
  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace mixstack
