#include "frontends/cli/heap_question.h"

#include <fmt/format.h>

#include <chrono>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/parsing.h"
#include "output/report/pending_words.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

/// A low estimate of the bytes that one processor copies and searches while others are busy.
constexpr double kBytesPerSecond = 1.5e9;
constexpr std::chrono::milliseconds kAtLeast{10};  // for the stop, types and chains

std::chrono::milliseconds estimate(std::uint64_t bytes) {
  return kAtLeast +
         std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(bytes) * 1e3 / kBytesPerSecond));
}

}  // namespace

std::optional<std::uint64_t> byte_size(std::string_view text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 44;
  unsigned shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (text.ends_with('G')) shift = 30;
  if (shift != 0) text.remove_suffix(1);
  const auto number = whole_number(text, kMost >> shift);
  return number ? std::optional(*number << shift) : std::nullopt;
}

std::string read_heap_limit(const std::string& text, bool has_heap, std::uint64_t& out) {
  if (!text.empty() && !has_heap) return "--heap-limit is for --heap";
  const auto limit = text.empty() ? std::optional(kHeapLimit) : byte_size(text);
  if (!limit) return fmt::format("--heap-limit: '{}' is not a size like 512M or 8G", text);
  out = *limit;
  return {};
}

std::function<bool(std::uint64_t)> heap_question(bool is_process, std::uint64_t limit, const Environment& environment) {
  return [is_process, limit, &environment](std::uint64_t bytes) {
    if (!is_process) return true;
    const std::string size = report::size_words(bytes), time = report::coarse_duration_words(estimate(bytes));
    if (bytes > limit) {
      FdOutput(environment.err)
          .write(fmt::format("mixstack: the heap is not searched: {} of it would take about {}, in which the process "
                             "stands still; --heap-limit {}M allows it\n",
                             size, time, (bytes >> 20) + 1));
      return false;
    }
    FdOutput(environment.err)
        .write(fmt::format("mixstack: the process stands still for about {}, with very many async methods for "
                           "longer, while {} of its heap are searched\n",
                           time, size));
    return true;
  };
}

}  // namespace mixstack::cli
