#include "frontends/cli/heap_question.h"

#include <fmt/format.h>

#include "frontends/cli/output.h"
#include "frontends/cli/parsing.h"
#include "output/report/pending_words.h"

namespace mixstack::cli {
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
    const bool is_allowed = bytes <= limit;
    remark(environment, {is_allowed ? "heap_stop" : "heap_too_large"},
           "mixstack: " + (is_allowed ? report::heap_stop_words(bytes) : report::heap_refused_words(bytes)) + "\n");
    return is_allowed;
  };
}

}  // namespace mixstack::cli
