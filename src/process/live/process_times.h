// Processor time of all processes of the machine, for the question which of them have the processors.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack::process {

struct ProcessTime {
  std::uint32_t pid = 0;
  std::uint64_t started = 0;  ///< in ticks since boot: with `pid`, the process
  std::uint64_t used = 0;     ///< ticks, those of children that were waited for left out
  std::string name{};         ///< comm, as the kernel has it
};
/// At most 8192 processes that are visible here, by pid; some 8 us each.
[[nodiscard]] std::vector<ProcessTime> process_times();

/// Processes of one name.
struct NamedTime {
  std::string name{};
  std::uint32_t processes = 0;
  std::chrono::nanoseconds used{0};
  friend bool operator==(const NamedTime&, const NamedTime&) = default;
};
/// Time used between two looks by processes of the second one, except `left_out`; most first. To ticks of 10 ms a
/// process; those that used none are not listed.
[[nodiscard]] std::vector<NamedTime> used_between(const std::vector<ProcessTime>& before,
                                                  const std::vector<ProcessTime>& after,
                                                  const std::vector<std::uint32_t>& left_out);

}  // namespace mixstack::process
