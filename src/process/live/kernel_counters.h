// Counters of the kernel for one process and the machine it runs on.
#pragma once

#include <optional>
#include <string_view>

#include "mixstack/counters.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Reads three small files of each thread, and some of the process: some 20 us a thread. Nothing is stopped. What the
/// kernel does not tell is left out; a process that has gone has no threads.
[[nodiscard]] KernelCounters kernel_counters(std::uint32_t pid);
[[nodiscard]] KernelCounters kernel_counters(const ProcDir& proc);

/// Fields of /proc/PID/stat, in the kernel's units. Public for tests.
struct ProcessStat {
  std::uint64_t minor_faults = 0, children_minor_faults = 0, major_faults = 0, children_major_faults = 0;
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;  ///< ticks
  std::uint64_t started = 0;                                                   ///< ticks since boot
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);
/// Fills in the counters of a thread's or process's io file.
void parse_io(std::string_view text, ThreadCounters& counters);
/// Time of all processors that was not idle, from /proc/stat.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_machine_busy(std::string_view text);

}  // namespace mixstack::process
