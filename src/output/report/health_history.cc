#include "output/report/health_history.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace mixstack::report {
namespace {

struct Told {
  std::string_view name, unit;
  double least;  ///< a smaller difference is no change
  double scale;  ///< of the number to what is told
  std::optional<double> (*get)(const Health&);
};

constexpr std::array<Told, HealthHistory::kNumbers> kTold{{
    {"processors", "", 0.3, 1, [](const Health& h) { return h.processors; }},
    {"collections", "/s", 1, 1, [](const Health& h) { return h.collections; }},
    {"allocated memory", " MB/s", 5, 1e-6, [](const Health& h) { return h.allocated; }},
    {"exceptions", "/s", 10, 1, [](const Health& h) { return h.exceptions; }},
    {"compiled methods", "/s", 50, 1, [](const Health& h) { return h.methods; }},
    {"queued items", "", 10, 1,
     [](const Health& h) { return h.queued ? std::optional(static_cast<double>(*h.queued)) : std::nullopt; }},
}};

std::string words(double value, std::string_view unit) {
  return value >= 10 ? fmt::format("{:.0f}{}", value, unit) : fmt::format("{:.1f}{}", value, unit);
}

bool is_change(double from, double to, double least) {
  constexpr double kTimes = 3;
  return std::abs(to - from) >= least && (to >= from * kTimes || from >= to * kTimes);
}

}  // namespace

std::vector<std::string> HealthHistory::add(const Health& health, const std::string& when) {
  constexpr double kNew = 0.3;  // part of a new number in the level
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kNumbers; i++) {
    const Told& told = kTold[i];
    Number& number = numbers_[i];
    const auto raw = told.get(health);
    if (!raw) continue;
    const double value = *raw * told.scale;
    if (number.level && is_change(*number.level, value, told.least)) {
      number.from = *number.level;
      number.since = when;
      number.level = value;
    } else {
      number.level = number.level ? *number.level * (1 - kNew) + value * kNew : value;
    }
    if (number.since.empty() || !is_change(number.from, value, told.least)) continue;
    lines.push_back(fmt::format("since {} {} {} from {} to {}", number.since, told.name,
                                value > number.from ? "rose" : "fell", words(number.from, told.unit),
                                words(value, told.unit)));
  }
  return lines;
}

}  // namespace mixstack::report
