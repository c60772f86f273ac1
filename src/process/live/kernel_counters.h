// Counters of the kernel for one process and the machine it runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mixstack/counters.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Reads three small files of each thread, and some of the process: some 20 us a thread. Nothing is stopped. All that
/// the kernel does not tell is left out; a process that has gone has no threads. `before` is what an earlier look
/// answered: one file is enough for each thread that has not run since then.
[[nodiscard]] KernelCounters kernel_counters(std::uint32_t pid, const KernelCounters& before = {});
[[nodiscard]] KernelCounters kernel_counters(const ProcDir& proc, const KernelCounters& before = {});

/// The stat file of a process or thread, in the kernel's units.
struct StatCounters {
  std::string_view name;  ///< comm; borrowed
  char state = '?';
  std::uint64_t minor_faults = 0, children_minor_faults = 0, major_faults = 0;
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;  ///< ticks
  std::uint64_t started = 0;                                                   ///< ticks since boot
};
[[nodiscard]] std::optional<StatCounters> parse_stat_counters(std::string_view line);

/// The io file of a process or thread; nothing where a line is missing.
struct IoCounters {
  std::optional<std::uint64_t> reads, read_bytes, writes, written_bytes;
};
[[nodiscard]] IoCounters parse_io_counters(std::string_view text);

/// Time that processors were not idle, from /proc/stat: all, and those of `allowed` (by number).
struct BusyProcessors {
  std::optional<std::chrono::nanoseconds> all, allowed;
};
[[nodiscard]] BusyProcessors parse_busy_processors(std::string_view text, const std::vector<bool>& allowed);

}  // namespace mixstack::process
