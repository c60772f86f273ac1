#include "base/system/proc_status.h"

#include <algorithm>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::base {

std::optional<std::string_view> status_field(std::string_view status, std::string_view key) {
  while (!status.empty()) {
    const std::size_t end = std::min(status.find('\n'), status.size());
    std::string_view line = status.substr(0, end);
    status.remove_prefix(std::min(end + 1, status.size()));
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return std::nullopt;
}

std::uint64_t status_number(std::string_view status, std::string_view key, int base) {
  return leading_number<std::uint64_t>(status_field(status, key).value_or(""), base).value_or(0);
}

std::string own_status() { return text_at("/proc/self/status", 16 << 10); }

}  // namespace mixstack::base
