// The protocol between mixstack and mixstack-fetch, over a socket between parent and child on one machine.
#pragma once

#include <cstdint>

namespace mixstack::fetch_link {

inline constexpr std::uint32_t kFetchVersion = 2;
inline constexpr std::uint32_t kMostUrlBytes = 4096;
inline constexpr std::uint32_t kMostHeaderBytes = 1 << 16;
inline constexpr std::uint64_t kMostBodyBytes = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kMostPieceBytes = 1 << 16;

enum class FetchKind : std::uint32_t {
  get,   ///< GET of a file: its bytes are the answer
  send,  ///< POST of a body: the server's answer is the answer, of any status
  last = send,
};

/// Followed by `url_bytes` of a URL, `header_bytes` of lines "Name: value" with a line feed after each, and
/// `body_bytes`; the last two are 0 for `get`. The fetcher keeps all limits; mixstack enforces total time and bytes.
struct FetchRequest {
  std::uint32_t version = kFetchVersion;
  FetchKind kind = FetchKind::get;
  std::uint32_t url_bytes = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint32_t connect_ms = 0;
  std::uint32_t stall_ms = 0;  ///< most time without a received byte
  std::uint32_t total_ms = 0;
  std::uint32_t redirects = 0;   ///< most redirects of `get`; `send` follows none
  std::uint64_t most_bytes = 0;  ///< of the answer. `get`: more is an error; `send`: the rest is dropped
};
static_assert(sizeof(FetchRequest) == 48);

enum class FetchOutcome : std::uint32_t {
  done,           ///< `send`: any status from 200 to 299, even if reading the rest of the answer failed
  not_found,      ///< of `get`: HTTP 404 or 410
  refused,        ///< another HTTP status, in `value`
  no_connection,  ///< `value` is an errno, or 0
  no_such_host,
  timed_out,
  too_large,  ///< `value`: bytes announced or sent
  cut_short,  ///< fewer bytes than announced
  redirects,  ///< too many, or to a URL that is not allowed
  untrusted,  ///< TLS: the certificate or the connection
  garbled,    ///< no HTTP
  failed,     ///< anything else; `value` is libcurl's code
  last_of_fetcher = failed,
  fetcher_broken,  ///< set by mixstack: the fetcher ended, or broke the protocol
  given_up,        ///< set by mixstack: `is_wanted` returned false
};

/// An answer is a sequence of pieces, then the end.
struct FetchPiece {
  std::uint32_t is_end = 0;  ///< 1: a FetchEnd follows
  std::uint32_t bytes = 0;   ///< that follow
};
static_assert(sizeof(FetchPiece) == 8);

struct FetchEnd {
  FetchOutcome outcome = FetchOutcome::failed;
  std::uint32_t retry_after_s = 0;  ///< of `send`: Retry-After of the answer, 0: none
  std::uint64_t value = 0;
};
static_assert(sizeof(FetchEnd) == 16);

}  // namespace mixstack::fetch_link
