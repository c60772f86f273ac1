// One request to a server.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fetch_link/protocol.h"

namespace mixstack::fetcher {

/// What is sent by POST.
struct Posted {
  const std::string& headers;  ///< lines "Name: value", each ended by a line feed
  std::string_view body;
};

/// Connections are kept from one request to the next. No cookie, .netrc or client certificate is ever sent, no user or
/// password but in a header that mixstack gave; only http and https are spoken, redirects included, and never from
/// https to http. Proxies are those of the environment (https_proxy, ...). Not thread-safe.
class Transfers {
 public:
  /// False: nobody wants more.
  using Sink = std::function<bool(std::span<const std::byte>)>;

  Transfers();
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Only the body of an answer with status 200 goes to `sink`.
  [[nodiscard]] fetch_link::FetchEnd get(const std::string& url, const fetch_link::FetchRequest& limits,
                                         const Sink& sink);
  /// POST. Goes where it is told and nowhere else: a redirect is a status like others. The beginning of the body of any
  /// answer goes to `sink`, and its Retry-After into the end.
  [[nodiscard]] fetch_link::FetchEnd send(const std::string& url, const Posted& posted,
                                          const fetch_link::FetchRequest& limits, const Sink& sink);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack::fetcher
