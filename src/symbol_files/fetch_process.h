// mixstack-fetch as a child: asked for one URL after the other.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/service_process.h"
#include "symbol_files/fetch_protocol.h"

namespace mixstack::symbol_files {

struct FetchLimits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds stall{10'000};
  std::chrono::milliseconds total{30'000};
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint32_t redirects = 5;
};

/// Started when it is first asked, and again at most three times when it broke. What it says is believed no more than
/// a server: the times and the number of bytes are counted here, too. Not thread-safe.
class FetchProcess {
 public:
  using Sink = std::function<bool(std::span<const std::byte>)>;

  /// `program` empty: looked for beside our own. `environment`: all that it sees of ours (proxies).
  FetchProcess(std::string program, std::vector<std::string> environment)
      : program_(std::move(program)), environment_(std::move(environment)) {}

  /// Gives what arrives to `sink`; where that answers false, the outcome is `failed`, value 0. A diagnosis: there is no
  /// fetcher that may be run.
  [[nodiscard]] tl::expected<FetchEnd, Diagnosis> get(const std::string& url, const FetchLimits& limits,
                                                      const Sink& sink);

 private:
  [[nodiscard]] tl::expected<void, Diagnosis> start();
  [[nodiscard]] bool ask(const std::string& url, const FetchLimits& limits);
  [[nodiscard]] FetchEnd receive(const FetchLimits& limits, const Sink& sink);

  std::string program_;
  std::vector<std::string> environment_;
  base::ServiceProcess process_;
  unsigned starts_ = 0;
};

/// "it cannot be reached (Connection refused)", "it sent less than it said"; empty for `done` and `not_found`.
[[nodiscard]] std::string outcome_words(const FetchEnd& end);
/// Whether there is no sense in asking the same server again soon.
[[nodiscard]] bool is_hopeless(FetchOutcome outcome);

}  // namespace mixstack::symbol_files
