// What an answer to a profile means, and how long a server that fails is left alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "fetch_link/protocol.h"

namespace mixstack::push {

enum class PushVerdict : std::uint8_t {
  sent,
  later,    ///< it was not reached, broke, or has no room now: it is asked again
  refused,  ///< it does not want this one, now or later
};
/// 2xx; no connection, no answer, 408, 429 and 5xx; everything else.
[[nodiscard]] PushVerdict verdict_of(const fetch_link::FetchEnd& end);

/// Times grow from a second to five minutes, each by chance half of it or more, so that a fleet does not come back at
/// once. Not thread-safe.
class BackOff {
 public:
  static constexpr std::chrono::milliseconds kFirst{1'000}, kLongest{300'000};

  explicit BackOff(std::uint64_t seed) : random_(seed) {}
  /// After one more failure: how long to wait; at least what the server asked for (Retry-After), up to kLongest.
  [[nodiscard]] std::chrono::milliseconds next(std::chrono::seconds asked_for);
  void reset() { failures_ = 0; }

 private:
  std::mt19937_64 random_;
  unsigned failures_ = 0;
};

}  // namespace mixstack::push
