// Times and their summary for the benchmarks.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

inline std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Summary {
  double min = 0, median = 0;
  std::size_t samples = 0;
};

/// Neighbours on the machine can only make a sample longer: the minimum is the figure to compare.
inline Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.size()};
}

inline void print_row(const std::string& what, const Summary& s, const char* unit, const std::string& remark = {}) {
  std::printf("%-58s %10.4g %10.4g %-9s %s\n", what.c_str(), s.min, s.median, unit, remark.c_str());
  std::fflush(stdout);
}

inline void print_head(const char* title) { std::printf("\n%-58s %10s %10s\n", title, "min", "median"); }

}  // namespace bench
