#include "output/push/back_off.h"

#include <algorithm>

namespace mixstack::push {

using fetch_link::FetchOutcome;

PushVerdict verdict_of(const fetch_link::FetchEnd& end) {
  switch (end.outcome) {
    case FetchOutcome::done:
      return PushVerdict::sent;
    case FetchOutcome::refused:
      return end.value == 408 || end.value == 429 || end.value >= 500 ? PushVerdict::later : PushVerdict::refused;
    case FetchOutcome::too_large:
    case FetchOutcome::not_found:
      return PushVerdict::refused;
    default:
      return PushVerdict::later;
  }
}

std::chrono::milliseconds BackOff::next(std::chrono::seconds asked_for) {
  const auto whole = std::min(kFirst * (std::int64_t{1} << std::min(failures_, 20u)), kLongest);
  failures_++;
  std::uniform_int_distribution<std::int64_t> chance(whole.count() / 2, whole.count());
  const auto asked = std::min(asked_for, std::chrono::duration_cast<std::chrono::seconds>(kLongest));
  return std::max<std::chrono::milliseconds>(std::chrono::milliseconds(chance(random_)), asked);
}

}  // namespace mixstack::push
