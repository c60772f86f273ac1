// mixstack-fetch as a child: asked for one URL after the other.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/service_process.h"
#include "fetch_link/protocol.h"

namespace mixstack::fetch_link {

struct FetchLimits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds stall{10'000};
  std::chrono::milliseconds total{30'000};
  std::uint64_t bytes = std::uint64_t{1} << 30;  ///< of the answer
  std::uint32_t redirects = 5;                   ///< of `get`
  /// Asked ten times a second while the fetcher is waited for; false: the exchange is given up (`given_up`).
  std::function<bool()> is_wanted{};
};

/// A POST.
struct FetchBody {
  std::vector<std::string> headers;  ///< "Name: value", without control characters
  std::string_view bytes;            ///< at most kMostBodyBytes
};

/// Which fetcher is run, and how.
struct FetcherOptions {
  std::string program{};                            ///< path of mixstack-fetch; empty: looked for beside our own
  std::vector<std::string> environment{};           ///< all that it sees of ours (proxies)
  std::string needed_for = "symbols from servers";  ///< for the words when there is none
  unsigned most_starts = 4;                         ///< it is started again when it broke, so often in all
};

/// Why there is no fetcher that may be run; code none: there is one.
[[nodiscard]] Diagnosis fetcher_refusal(const FetcherOptions& options);

/// Started when it is first asked, and again when it broke. It ends with the thread that asked first. What it says is
/// believed no more than a server: the times and the number of bytes are counted here, too. Not thread-safe.
class FetchProcess {
 public:
  using Sink = std::function<bool(std::span<const std::byte>)>;

  explicit FetchProcess(FetcherOptions options) : options_(std::move(options)) {}

  /// Gives what arrives to `sink`; where that answers false, the outcome is `failed`, value 0. A diagnosis: there is no
  /// fetcher that may be run.
  [[nodiscard]] tl::expected<FetchEnd, Diagnosis> get(const std::string& url, const FetchLimits& limits,
                                                      const Sink& sink);
  /// Sends a body by POST, redirected nowhere. `answer` becomes what the server says to it, at most `limits.bytes`. A
  /// body or headers larger than the protocol takes are `too_large`, and not sent.
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
  /// `done`: it was asked.
  [[nodiscard]] FetchOutcome ask(const Question& question, const FetchLimits& limits);
  [[nodiscard]] FetchEnd receive(const FetchLimits& limits, const Sink& sink);

  FetcherOptions options_;
  base::ServiceProcess process_;
  unsigned starts_ = 0;
};

/// "it cannot be reached (Connection refused)", "it sent less than it said"; empty for `done` and `not_found`.
[[nodiscard]] std::string outcome_words(const FetchEnd& end);
/// Whether there is no sense in asking the same server again soon.
[[nodiscard]] bool is_hopeless(FetchOutcome outcome);

}  // namespace mixstack::fetch_link
