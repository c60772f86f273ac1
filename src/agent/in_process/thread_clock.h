// CPU clocks of threads of our own process.
#pragma once

#include <cstdint>
#include <ctime>

namespace mixstack::agent {

/// The kernel's clock id (include/linux/posix-timers_types.h: CPUCLOCK_PERTHREAD_MASK 4, CPUCLOCK_SCHED 2).
[[nodiscard]] inline clockid_t cpu_clock(std::uint32_t tid) { return static_cast<clockid_t>((~tid << 3) | 4u | 2u); }

/// CPU time in ns; 0: no such thread.
[[nodiscard]] inline std::uint64_t cpu_time(std::uint32_t tid) {
  timespec used{};
  if (::clock_gettime(cpu_clock(tid), &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace mixstack::agent
