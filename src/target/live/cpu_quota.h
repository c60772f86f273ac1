// The CPU quotas of the cgroups a process is in: who has used his up stands still, though processors are free.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::target {

/// The quota of one cgroup, as cpu.max and cpu.stat tell (version 2), or cpu.cfs_quota_us and its kin (1).
struct CpuQuota {
  std::string cgroup;  ///< as /proc/PID/cgroup has it
  std::uint64_t quota_us = 0, period_us = 0;
  std::uint64_t periods = 0,
                throttled = 0;  ///< since the cgroup was made: those in which somebody was ready, was stopped
};

/// Those of the process's cgroup and of the ones above it, the innermost first, at most 32. Empty: none has a quota, or
/// their files are not to be seen from here.
[[nodiscard]] std::vector<CpuQuota> cpu_quotas(std::uint32_t pid);

/// What a quota did between two looks: of the cgroup that stopped the process most.
struct QuotaUse {
  CpuQuota quota;
  std::uint64_t periods = 0, throttled = 0;
  /// In a fifth of the periods and more: it is the quota that threads wait for, not a processor.
  [[nodiscard]] bool is_felt() const { return throttled != 0 && throttled * 5 >= periods; }
};
[[nodiscard]] std::optional<QuotaUse> quota_use(const std::vector<CpuQuota>& before,
                                                const std::vector<CpuQuota>& after);
/// "its cgroup /a/b allows 0.2 processors (a quota of 20 ms in each 100 ms), which was used up in 38 of 40 periods".
[[nodiscard]] std::string quota_words(const QuotaUse& use);

/// Where a cgroup's files are: of the lines of /proc/PID/cgroup and of /proc/self/mountinfo. Tried by tests.
struct CgroupPlace {
  std::string mount, path;  ///< the folder it is mounted at; below it, "/" or "/a/b"
  bool is_v2 = false;
};
[[nodiscard]] std::optional<CgroupPlace> cpu_cgroup(std::string_view cgroups, std::string_view mountinfo);

}  // namespace mixstack::target
