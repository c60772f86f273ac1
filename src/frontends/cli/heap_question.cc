#include "frontends/cli/heap_question.h"

#include <fmt/format.h>

#include "frontends/cli/output.h"
#include "frontends/cli/parsing.h"
#include "output/report/pending_words.h"

namespace mixstack::cli {

void declare_heap_limit(CommandLine& line, std::uint64_t& limit) {
  limit = kHeapLimit;
  line.value("--heap-limit", [&limit](const std::string& text) {
    const auto size = byte_size(text);
    limit = size.value_or(limit);
    return size ? std::string() : fmt::format("--heap-limit: '{}' is not a size like 512M or 8G", text);
  });
}

std::string check_heap_limit(const CommandLine& line, bool has_heap) {
  return line.has("--heap-limit") && !has_heap ? "--heap-limit is for --heap" : "";
}

std::function<bool(std::uint64_t)> heap_question(bool is_process, std::uint64_t limit, const Environment& environment) {
  return [is_process, limit, &environment](std::uint64_t bytes) {
    if (!is_process) return true;
    const bool is_allowed = bytes <= limit;
    remark(environment, {is_allowed ? "heap_stop" : "heap_too_large"},
           is_allowed ? report::heap_stop_words(bytes) : report::heap_refused_words(bytes));
    return is_allowed;
  };
}

}  // namespace mixstack::cli
