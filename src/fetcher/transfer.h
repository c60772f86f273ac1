// One request to a server.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "symbol_files/fetch_protocol.h"

namespace mixstack::fetcher {

/// Connections are kept from one request to the next. No user, password, cookie, .netrc or client certificate is ever
/// sent; only http and https are spoken, redirects included, and never from https to http. Proxies are those of the
/// environment (https_proxy, ...). Not thread-safe.
class Transfers {
 public:
  /// False: nobody wants more.
  using Sink = std::function<bool(std::span<const std::byte>)>;

  Transfers();
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Only the body of an answer with status 200 goes to `sink`.
  [[nodiscard]] symbol_files::FetchEnd get(const std::string& url, const symbol_files::FetchRequest& limits,
                                           const Sink& sink);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack::fetcher
