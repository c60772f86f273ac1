// The threads of our own process, as the kernel lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mixstack::agent {

/// Empty where /proc cannot be read. Not for signal handlers.
[[nodiscard]] std::vector<std::uint32_t> own_tasks();
/// The letter of proc_pid_stat(5): R, S, D, T...; 0: no such thread.
[[nodiscard]] char task_state(std::uint32_t tid);
/// What the kernel calls it; empty: no such thread.
[[nodiscard]] std::string task_name(std::uint32_t tid);

}  // namespace mixstack::agent
