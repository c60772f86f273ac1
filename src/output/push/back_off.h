// Classifies a server's answer to a profile, and computes the time until the next try.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "helpers/fetch_protocol/protocol.h"

namespace mixstack::push {

enum class PushVerdict : std::uint8_t {
  sent,
  later,    ///< a failure that may pass: not reached, broken, or overloaded; tried again
  refused,  ///< the server will never take this profile
};
/// `sent`: 2xx. `refused`: other statuses but 408, 429 and 5xx, and too large. `later`: these, and all other failures.
[[nodiscard]] PushVerdict verdict_of(const fetch_link::FetchEnd& end);

/// Exponential back-off from kFirst to kLongest, with jitter: each wait is a random half to all of it, so that a fleet
/// does not come back at once. Not thread-safe.
class BackOff {
 public:
  static constexpr std::chrono::milliseconds kFirst{1'000}, kLongest{300'000};

  explicit BackOff(std::uint64_t seed) : random_(seed) {}
  /// The wait after one more failure: at least what the server asked for (Retry-After), up to kLongest.
  [[nodiscard]] std::chrono::milliseconds next(std::chrono::seconds asked_for);
  void reset() { failures_ = 0; }

 private:
  std::mt19937_64 random_;
  unsigned failures_ = 0;
};

}  // namespace mixstack::push
