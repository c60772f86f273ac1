// How long threads have not run.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "process/live/proc_dir.h"

namespace mixstack::process {

/// For threads that wait, by the scheduler: when a thread last left its processor, by the clock of that processor.
/// These clocks disagree, so a helper thread of ours reads each one there. Threads that ran last where we may not run,
/// or on more than 32 processors, are left out, and all of them if the kernel does not tell (CONFIG_SCHED_DEBUG). A
/// stop makes each thread run: ask before it. Some 15 us a thread.
[[nodiscard]] std::unordered_map<ThreadId, std::chrono::nanoseconds> off_cpu_times(const ProcDir& proc,
                                                                                   std::span<const ThreadId> threads);

/// The moment in /proc/PID/task/TID/sched at which a thread last went on or off a processor: the line
/// "se.exec_start : 1803772.018890", in milliseconds (proc_sched_show_task in kernel/sched/debug.c).
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_exec_start(std::string_view sched);

}  // namespace mixstack::process
