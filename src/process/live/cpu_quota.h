// The CPU quotas of a process's cgroups: a process that has used its quota up is throttled, though processors are free.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mixstack::process {

/// The quota of one cgroup, as cpu.max and cpu.stat tell (version 2), or cpu.cfs_quota_us and its kin (1).
struct CpuQuota {
  std::string cgroup;  ///< as /proc/PID/cgroup has it
  std::uint64_t quota_us = 0, period_us = 0;
  std::uint64_t periods = 0,
                throttled = 0;  ///< since the cgroup was made: periods with ready threads, and throttled ones
  std::chrono::nanoseconds throttled_time{0};  ///< of all processors together
};

/// The quotas of the process's cgroup and of those above it, innermost first, at most 32. Empty: none has a quota, or
/// their files are not visible from here.
[[nodiscard]] std::vector<CpuQuota> cpu_quotas(std::uint32_t pid);

/// The effect of a quota between two looks, for the cgroup that throttled the process most.
struct QuotaUse {
  CpuQuota quota;
  std::uint64_t periods = 0, throttled = 0;
  std::chrono::nanoseconds throttled_time{0};
  /// Throttled in at least a fifth of the periods: threads wait for the quota, not for a processor.
  [[nodiscard]] bool is_felt() const { return throttled != 0 && throttled * 5 >= periods; }
};
[[nodiscard]] std::optional<QuotaUse> quota_use(const std::vector<CpuQuota>& before,
                                                const std::vector<CpuQuota>& after);
/// "the CPU quota of its cgroup /a/b allows 0.2 processors (20 ms in each 100 ms): throttled in 38 of 40 periods".
[[nodiscard]] std::string quota_words(const QuotaUse& use);

}  // namespace mixstack::process
