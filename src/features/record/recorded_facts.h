// Facts about recorded processes, for the recording itself and for those who report on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::record {

/// The command line, fit for a terminal, of bounded length.
[[nodiscard]] std::string command_of(const TargetInfo& target);
/// The program's name, fit for a terminal: its assembly if the host `dotnet` runs it, else its comm.
[[nodiscard]] std::string name_of(std::uint32_t pid);
/// The number of its threads now; 0: no such process.
[[nodiscard]] std::size_t threads_of(std::uint32_t pid);
/// User-mode CPU time of a process, including ended threads. Nothing: the process is gone.
[[nodiscard]] std::optional<std::uint64_t> user_cpu_ns(std::uint32_t pid);
/// CPU time of mixstack itself.
[[nodiscard]] std::uint64_t own_cpu_ns();
/// Children of all threads of a process, by /proc/PID/task/TID/children.
[[nodiscard]] std::vector<std::uint32_t> children_of(std::uint32_t pid);
/// Our own children that do not run one of our own programs: adopted ones, and programs that we have started.
[[nodiscard]] std::vector<std::uint32_t> adopted();

}  // namespace mixstack::record
