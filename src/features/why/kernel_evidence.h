// Evidence of the kernel between two looks, beside counters, as data: conclusions are drawn from it in kernel_causes.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/registers.h"
#include "process/live/call_looks.h"
#include "process/live/cpu_quota.h"
#include "process/live/process_times.h"
#include "process/live/socket_counters.h"
#include "process/perf/exec_watch.h"

namespace mixstack::why {

/// Programs started while they were watched.
struct Starts {
  std::chrono::nanoseconds time{0};              ///< for so long
  std::uint64_t children = 0;                    ///< processes that threads of ours made
  std::vector<perf::StartedProgram> programs{};  ///< by them and their children, most starts first
};

/// A regular file that the process has open and that changed meanwhile.
struct ChangedFile {
  std::string path{};
  std::uint64_t grown = 0;  ///< bytes; 0: it was written over
};

/// Memory and page faults at one moment of the watch.
struct MemoryReading {
  std::chrono::nanoseconds at{0};  ///< since its begin
  std::uint64_t anonymous = 0;     ///< resident bytes that no file backs
  std::uint64_t minor_faults = 0;
};

struct KernelEvidence {
  Arch arch = Arch::unknown;  ///< of the process: numbers of its system calls
  std::chrono::nanoseconds time{0};
  std::optional<std::chrono::nanoseconds> uptime{};  ///< of the process, at the end
  std::optional<process::QuotaUse> quota{};          ///< of the cgroup that throttled it most
  std::vector<process::NamedTime> others{};          ///< other processes that ran, most time first, ours left out
  std::chrono::nanoseconds own{0};                   ///< processor time of mixstack itself
  process::CallTally calls{};
  std::optional<Starts> starts{};  ///< nothing: no child was seen, or perf events are not allowed
  std::vector<ChangedFile> changed{};
  std::vector<process::SocketCounters> sent{};  ///< by connections that were there all the time: their gains
  std::vector<MemoryReading> memory{};          ///< at most 256
};

}  // namespace mixstack::why
