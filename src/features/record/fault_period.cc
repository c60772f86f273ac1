#include "features/record/fault_period.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "base/system/small_file.h"
#include "process/live/kernel_counters.h"

namespace mixstack::record {

std::uint64_t fault_period(std::uint32_t pid, double wanted) {
  constexpr std::chrono::milliseconds kMeasured{40};
  const auto faults = [path = "/proc/" + std::to_string(pid) + "/stat"]() -> std::uint64_t {
    const auto stat = process::parse_stat_counters(base::text_at(path, 1));
    return stat ? stat->minor_faults : 0;
  };
  const std::uint64_t before = faults();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kMeasured);
  const std::uint64_t after = faults();
  const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double rate = static_cast<double>(after - std::min(after, before)) / time;
  return static_cast<std::uint64_t>(std::clamp(rate / wanted, 1.0, 1e6)) | 1;
}

}  // namespace mixstack::record
