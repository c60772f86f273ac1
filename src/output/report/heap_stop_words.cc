#include <fmt/format.h>

#include "output/report/pending_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

/// A low estimate of the bytes that one processor copies and searches while others are busy.
constexpr double kBytesPerSecond = 1.5e9;
constexpr std::chrono::milliseconds kAtLeast{10};  // for the stop, types and chains

std::chrono::milliseconds estimate(std::uint64_t bytes) {
  return kAtLeast +
         std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(bytes) * 1e3 / kBytesPerSecond));
}

}  // namespace

std::string heap_stop_words(std::uint64_t bytes) {
  return fmt::format(
      "the process stands still for about {}, with very many async methods for longer, while {} of its heap are "
      "searched",
      coarse_duration_words(estimate(bytes)), size_words(bytes));
}

std::string heap_refused_words(std::uint64_t bytes) {
  return fmt::format(
      "the heap is not searched: {} of it would take about {}, in which the process stands still; --heap-limit {}M "
      "allows it",
      size_words(bytes), coarse_duration_words(estimate(bytes)), (bytes >> 20) + 1);
}

}  // namespace mixstack::report
