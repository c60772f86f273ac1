// How long a process has run, what it used, and in which container it is.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "mixstack/target.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Ticks (sysconf(_SC_CLK_TCK) a second): user and system time, and the start since boot. 0 where /proc does not say.
struct ProcessTicks {
  std::uint64_t used = 0, started = 0;
};
[[nodiscard]] ProcessTicks read_ticks(const ProcDir& proc);
[[nodiscard]] double ticks_a_second();
/// Since it was started; nothing where that is not known.
[[nodiscard]] std::optional<std::chrono::nanoseconds> uptime_of(const ProcessTicks& ticks);

/// The id in a cgroup path as docker, containerd, podman and Kubernetes write it (64 hexadecimal digits somewhere in
/// its last part), shortened to 12; empty where there is none.
[[nodiscard]] std::string container_in(std::string_view cgroups);

/// Processor time of all threads of a process, of those that have ended, too: its clock, which counts nanoseconds and
/// asks for no right. Nothing: there is no such process.
[[nodiscard]] std::optional<std::chrono::nanoseconds> cpu_of_process(std::uint32_t pid);

/// Measures the processor time of a process between two looks, by its clock. Not thread-safe.
class UsageMeter {
 public:
  explicit UsageMeter(std::uint32_t pid);
  /// Rates are those since the last look. `stopped` of that time the process could not run.
  [[nodiscard]] ProcessUsage look(const ProcDir& proc, std::chrono::nanoseconds stopped);
  /// Whether it has hardly run since the last look. False, too, if that look was less than a millisecond or more than
  /// five seconds ago, which tells nothing of now.
  [[nodiscard]] bool is_at_rest() const;

 private:
  std::uint32_t pid_;
  std::optional<std::chrono::nanoseconds> cpu_;
  std::chrono::steady_clock::time_point at_;
};

}  // namespace mixstack::process
