#include "fetcher/transfer.h"

#include <curl/curl.h>

#include <algorithm>

namespace mixstack::fetcher {
namespace {

using symbol_files::FetchEnd;
using symbol_files::FetchOutcome;
using symbol_files::FetchRequest;

struct CurlDeleter {
  void operator()(CURL* curl) const { ::curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CurlDeleter>;

/// What libcurl's callbacks share.
struct Body {
  CURL* curl = nullptr;
  const Transfers::Sink& sink;
  std::uint64_t most = 0;
  std::uint64_t received = 0;
  bool is_too_large = false;
  bool is_unwanted = false;  ///< the sink wants no more
};

long status_of(CURL* curl) {
  long status = 0;
  (void)::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

/// Answering less than was given ends the transfer.
std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
  auto& body = *static_cast<Body*>(user);
  const std::size_t bytes = size * count;
  body.received += bytes;
  if (body.received > body.most) {
    body.is_too_large = true;
    return 0;
  }
  if (status_of(body.curl) != 200) return bytes;  // a page that says why not
  body.is_unwanted = !body.sink(std::as_bytes(std::span(data, bytes)));
  return body.is_unwanted ? 0 : bytes;
}

/// A server that says beforehand that it sends too much need not begin.
int look(void* user, curl_off_t expected, curl_off_t, curl_off_t, curl_off_t) {
  auto& body = *static_cast<Body*>(user);
  if (expected <= 0 || static_cast<std::uint64_t>(expected) <= body.most) return 0;
  body.received = static_cast<std::uint64_t>(expected);
  body.is_too_large = true;
  return 1;
}

void configure(CURL* curl, const std::string& url, const FetchRequest& limits, Body& body) {
  const auto set = [curl](CURLoption option, auto value) { (void)::curl_easy_setopt(curl, option, value); };
  ::curl_easy_reset(curl);
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, static_cast<long>(limits.redirects));
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_UNRESTRICTED_AUTH, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "mixstack");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_ms));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total_ms));
  // Less than a byte a second, for so many seconds.
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(limits.stall_ms / 1000)));
  set(CURLOPT_WRITEFUNCTION, &take);
  set(CURLOPT_WRITEDATA, &body);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &look);
  set(CURLOPT_XFERINFODATA, &body);
}

FetchEnd end_of_failure(CURL* curl, CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {FetchOutcome::no_such_host, 0, 0};
    case CURLE_COULDNT_CONNECT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING: {
      long error = 0;
      (void)::curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
      return {FetchOutcome::no_connection, 0, static_cast<std::uint64_t>(std::max(error, 0L))};
    }
    case CURLE_OPERATION_TIMEDOUT:
      return {FetchOutcome::timed_out, 0, 0};
    case CURLE_PARTIAL_FILE:
      return {FetchOutcome::cut_short, 0, 0};
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_LOGIN_DENIED:
    case CURLE_URL_MALFORMAT:
      return {FetchOutcome::redirects, 0, 0};
    case CURLE_UNSUPPORTED_PROTOCOL:  // of a redirect, or an answer without a header (HTTP/0.9)
      return {status_of(curl) / 100 == 3 ? FetchOutcome::redirects : FetchOutcome::garbled, 0, 0};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
      return {FetchOutcome::untrusted, 0, 0};
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_BAD_CONTENT_ENCODING:
      return {FetchOutcome::garbled, 0, 0};
    default:
      return {FetchOutcome::failed, 0, static_cast<std::uint64_t>(code)};
  }
}

FetchEnd end_of_status(long status) {
  if (status == 200) return {FetchOutcome::done, 0, 0};
  if (status == 404 || status == 410) return {FetchOutcome::not_found, 0, 0};
  return {FetchOutcome::refused, 0, static_cast<std::uint64_t>(std::max(status, 0L))};
}

}  // namespace

class Transfers::Implementation {
 public:
  Implementation() {
    (void)::curl_global_init(CURL_GLOBAL_DEFAULT);
    curl_.reset(::curl_easy_init());
  }
  [[nodiscard]] CURL* curl() { return curl_.get(); }

 private:
  Curl curl_;
};

Transfers::Transfers() : implementation_(std::make_unique<Implementation>()) {}
Transfers::~Transfers() = default;

FetchEnd Transfers::get(const std::string& url, const FetchRequest& limits, const Sink& sink) {
  CURL* curl = implementation_->curl();
  if (curl == nullptr) return {FetchOutcome::failed, 0, CURLE_FAILED_INIT};
  Body body{curl, sink, limits.most_bytes};
  configure(curl, url, limits, body);
  const CURLcode code = ::curl_easy_perform(curl);
  if (body.is_too_large) return {FetchOutcome::too_large, 0, body.received};
  return code == CURLE_OK ? end_of_status(status_of(curl)) : end_of_failure(curl, code);
}

}  // namespace mixstack::fetcher
