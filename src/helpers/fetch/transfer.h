// One request to a server.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "helpers/fetch_protocol/protocol.h"

namespace mixstack::fetcher {

/// The request of a POST.
struct Posted {
  const std::string& headers;  ///< lines "Name: value", each ended by a line feed
  std::string_view body;
};

/// Connections are kept from one request to the next. Never sends a cookie, .netrc entry or client certificate, nor a
/// user or password but in a header given by mixstack. Only http and https are used, redirects included, and no
/// redirect leads from https to http. Proxies come from the environment (https_proxy, ...). Not thread-safe.
class Transfers {
 public:
  /// Returns false to end the transfer.
  using Sink = std::function<bool(std::span<const std::byte>)>;

  Transfers();
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Only the body of an answer with status 200 goes to `sink`.
  [[nodiscard]] fetch_link::FetchEnd get(const std::string& url, const fetch_link::FetchRequest& limits,
                                         const Sink& sink);
  /// POST, without following redirects: a redirect is a status like others. The beginning of the answer's body, of any
  /// status, goes to `sink`; its Retry-After goes into the result.
  [[nodiscard]] fetch_link::FetchEnd send(const std::string& url, const Posted& posted,
                                          const fetch_link::FetchRequest& limits, const Sink& sink);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack::fetcher
