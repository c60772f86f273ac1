// Runs mixstack-fetch as a child process, and asks it for one URL at a time.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/service_process.h"
#include "helpers/fetch_protocol/protocol.h"

namespace mixstack::fetch_link {

struct FetchLimits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds stall{10'000};
  std::chrono::milliseconds total{30'000};
  std::uint64_t bytes = std::uint64_t{1} << 30;  ///< of the answer
  std::uint32_t redirects = 5;                   ///< of `get`
  /// Polled ten times a second during the exchange; false: it ends with `given_up`.
  std::function<bool()> is_wanted{};
};

/// Headers and body of a POST.
struct FetchBody {
  std::vector<std::string> headers;  ///< "Name: value", without control characters
  std::string_view bytes;            ///< at most kMostBodyBytes
};

/// The fetcher to run, and its environment.
struct FetcherOptions {
  std::string program{};                            ///< path of mixstack-fetch; empty: looked for beside our own
  std::vector<std::string> environment{};           ///< its whole environment (proxies)
  std::string needed_for = "symbols from servers";  ///< for the message when there is no fetcher
  unsigned most_starts = 4;                         ///< starts in all: it is restarted after it broke
};

/// Why no fetcher can be run; code none: one can.
[[nodiscard]] Diagnosis fetcher_refusal(const FetcherOptions& options);

/// Starts the fetcher at the first request, and again after it broke. The fetcher ends with the thread that started it.
/// Its answers are as untrusted as a server's: times and bytes are bounded here, too. Not thread-safe.
class FetchProcess {
 public:
  using Sink = std::function<bool(std::span<const std::byte>)>;

  explicit FetchProcess(FetcherOptions options) : options_(std::move(options)) {}

  /// Passes the received bytes to `sink`; if that returns false, the outcome is `failed`, value 0. A diagnosis: no
  /// fetcher can be run.
  [[nodiscard]] tl::expected<FetchEnd, Diagnosis> get(const std::string& url, const FetchLimits& limits,
                                                      const Sink& sink);
  /// Sends a body by POST, without following redirects. `answer` becomes the server's answer, at most `limits.bytes`. A
  /// body or headers larger than the protocol allows are `too_large`, and not sent.
  [[nodiscard]] tl::expected<FetchEnd, Diagnosis> send(const std::string& url, const FetchBody& body,
                                                       const FetchLimits& limits, std::string& answer);

 private:
  struct Question {
    const std::string& url;
    std::string headers{};
    std::string_view body{};
    FetchKind kind = FetchKind::get;
  };
  [[nodiscard]] tl::expected<void, Diagnosis> start();
  [[nodiscard]] tl::expected<FetchEnd, Diagnosis> exchange(const Question& question, const FetchLimits& limits,
                                                           const Sink& sink);
  /// `done`: the request was sent.
  [[nodiscard]] FetchOutcome ask(const Question& question, const FetchLimits& limits);
  [[nodiscard]] FetchEnd receive(const FetchLimits& limits, const Sink& sink);

  FetcherOptions options_;
  base::ServiceProcess process_;
  unsigned starts_ = 0;
};

/// "it cannot be reached (Connection refused)", "it sent less than it said"; empty for `done` and `not_found`.
/// For programs, a literal: "timed_out"; "http_status": refused.
[[nodiscard]] std::string_view outcome_name(FetchOutcome outcome);
[[nodiscard]] std::string outcome_words(const FetchEnd& end);
/// Whether another request to the same server would soon fail the same way.
[[nodiscard]] bool is_hopeless(FetchOutcome outcome);

}  // namespace mixstack::fetch_link
