#include "helpers/fetch/transfer.h"

#include <curl/curl.h>

#include <algorithm>

namespace mixstack::fetcher {
namespace {

using fetch_link::FetchEnd;
using fetch_link::FetchOutcome;
using fetch_link::FetchRequest;

struct ListDeleter {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListDeleter>;
struct CurlDeleter {
  void operator()(CURL* curl) const { ::curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CurlDeleter>;

/// The state that libcurl's callbacks share.
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

/// CURLOPT_WRITEFUNCTION of a GET. Returning less than was given ends the transfer.
std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
  auto& body = *static_cast<Body*>(user);
  const std::size_t bytes = size * count;
  body.received += bytes;
  if (body.received > body.most) {
    body.is_too_large = true;
    return 0;
  }
  if (status_of(body.curl) != 200) return bytes;  // an error page: dropped
  body.is_unwanted = !body.sink(std::as_bytes(std::span(data, bytes)));
  return body.is_unwanted ? 0 : bytes;
}

/// CURLOPT_WRITEFUNCTION of a POST: takes the beginning of the answer, up to `most`, and drops the rest.
std::size_t take_beginning(char* data, std::size_t size, std::size_t count, void* user) {
  auto& body = *static_cast<Body*>(user);
  const std::size_t bytes = size * count;
  const std::size_t wanted = std::min<std::uint64_t>(bytes, body.most - std::min(body.most, body.received));
  body.received += bytes;
  body.is_too_large = body.received > body.most;
  if (wanted != 0 && !body.sink(std::as_bytes(std::span(data, wanted)))) body.is_unwanted = true;
  return body.is_too_large || body.is_unwanted ? 0 : bytes;
}

/// CURLOPT_XFERINFOFUNCTION: ends the transfer early when the announced length is too large.
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
  // Fails after this many seconds below one byte per second.
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(limits.stall_ms / 1000)));
  set(CURLOPT_WRITEFUNCTION, &take);
  set(CURLOPT_WRITEDATA, &body);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &look);
  set(CURLOPT_XFERINFODATA, &body);
}

/// The given headers. "Expect:" removes libcurl's own header: libcurl would wait for servers that do not know it.
List headers_of(const std::string& lines) {
  List list;
  const auto add = [&list](const std::string& line) {
    curl_slist* longer = ::curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return false;
    (void)list.release();
    list.reset(longer);
    return true;
  };
  bool is_whole = add("Expect:");
  for (std::size_t at = 0; at < lines.size() && is_whole;) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    is_whole = add(lines.substr(at, end - at));
    at = end + 1;
  }
  return is_whole ? std::move(list) : List();
}

void configure_post(CURL* curl, const Posted& posted, curl_slist* headers) {
  const auto set = [curl](CURLoption option, auto value) { (void)::curl_easy_setopt(curl, option, value); };
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, posted.body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(posted.body.size()));
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_WRITEFUNCTION, &take_beginning);
  set(CURLOPT_NOPROGRESS, 1L);
}

std::uint32_t retry_after(CURL* curl) {
  curl_off_t seconds = 0;
  (void)::curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds);
  return static_cast<std::uint32_t>(std::clamp<curl_off_t>(seconds, 0, 1 << 30));
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

FetchEnd Transfers::send(const std::string& url, const Posted& posted, const FetchRequest& limits, const Sink& sink) {
  CURL* curl = implementation_->curl();
  const List headers = headers_of(posted.headers);
  if (curl == nullptr || !headers) return {FetchOutcome::failed, 0, CURLE_FAILED_INIT};
  Body body{curl, sink, limits.most_bytes};
  configure(curl, url, limits, body);
  configure_post(curl, posted, headers.get());
  const CURLcode code = ::curl_easy_perform(curl);
  const std::uint32_t later = retry_after(curl);
  const long status = status_of(curl);
  const FetchEnd failure = end_of_failure(curl, code);
  ::curl_easy_reset(curl);  // drops its pointers to our locals
  if (body.is_unwanted) return {FetchOutcome::failed, 0, 0};
  // The status is the server's decision, so a failure while reading the rest of its answer does not matter.
  if (code != CURLE_OK && !body.is_too_large && status < 200) return failure;
  if (status >= 200 && status < 300) return {FetchOutcome::done, later, 0};
  return {FetchOutcome::refused, later, static_cast<std::uint64_t>(std::max(status, 0L))};
}

}  // namespace mixstack::fetcher
