// The threads of our own process, from /proc/self/task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/in_process/standing_threads.h"

namespace mixstack::agent {

/// The TIDs; empty: /proc cannot be read. Not for signal handlers.
[[nodiscard]] std::vector<std::uint32_t> own_tasks();
/// The letter of proc_pid_stat(5): R, S, D, T...; 0: no such thread.
[[nodiscard]] char task_state(std::uint32_t tid);
/// Run count: how often it was put on a processor (schedstat); 0: the kernel does not count, or no such thread.
[[nodiscard]] std::uint64_t task_runs(std::uint32_t tid);
/// The system call that it waits in; nothing: it runs, or the kernel does not tell.
[[nodiscard]] std::optional<WaitPlace> task_wait(std::uint32_t tid);
/// Its comm; empty: no such thread.
[[nodiscard]] std::string task_name(std::uint32_t tid);

}  // namespace mixstack::agent
