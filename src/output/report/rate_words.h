// Rates and sizes in words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace mixstack::report {

/// 16500 as "16,500".
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}
/// "225,000", "90", "5.2": three digits say enough.
[[nodiscard]] inline std::string count_words(double value) {
  constexpr double kMost = 1e18;
  if (!(value >= 0)) return "0";
  if (value < 9.95) return fmt::format("{:.1f}", value);
  value = std::min(value, kMost);
  double step = 1;
  while (value / step >= 999.5) step *= 10;
  return grouped(static_cast<std::uint64_t>(std::round(value / step) * step));
}
[[nodiscard]] inline std::string percent_words(double share) {
  return fmt::format("{:.0f} %", std::clamp(share, 0.0, 1.0) * 100);
}
/// "10.2 MB", "2 bytes".
[[nodiscard]] inline std::string amount_words(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes / 1e6);
  if (bytes >= 1e4) return fmt::format("{:.3g} kB", bytes / 1e3);
  const double whole = std::round(std::max(bytes, 0.0));
  return fmt::format("{:.0f} {}", whole, whole == 1 ? "byte" : "bytes");
}
[[nodiscard]] inline std::string processor_words(double processors) {
  return fmt::format("{:.{}f} processors", processors, processors < 0.095 ? 2 : 1);
}

}  // namespace mixstack::report
