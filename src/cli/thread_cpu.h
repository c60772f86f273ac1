// Processor time of threads and processes, as the kernel tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace mixstack::cli {

/// Of one thread; nothing: it has gone, or the kernel does not tell (CONFIG_SCHED_INFO).
[[nodiscard]] std::optional<std::chrono::nanoseconds> thread_cpu(std::uint32_t pid, std::uint32_t tid);
/// Whether a thread runs, or would if a processor was given to it.
[[nodiscard]] bool is_runnable(std::uint32_t pid, std::uint32_t tid);
/// Of all threads of a process, those that have ended, too.
[[nodiscard]] std::optional<std::chrono::nanoseconds> process_cpu(std::uint32_t pid);

}  // namespace mixstack::cli
