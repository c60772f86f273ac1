// Changes in the numbers of a process from answer to answer of `mixstack why --watch`.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/slowness.h"

namespace mixstack::report {

class HealthHistory {
 public:
  static constexpr std::size_t kNumbers = 6;

  /// Takes the numbers of one more answer; `when` is its time in words. Returns the changes that last:
  /// "since 14:02:11 collections rose from 1.0/s to 36/s".
  [[nodiscard]] std::vector<std::string> add(const Health& health, const std::string& when);

 private:
  struct Number {
    std::optional<double> level{};  ///< of late
    double from = 0;                ///< before the change
    std::string since{};            ///< empty: there was no change
  };
  std::array<Number, kNumbers> numbers_{};
};

}  // namespace mixstack::report
