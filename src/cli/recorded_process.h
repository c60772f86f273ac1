// What commands that record say and ask of processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program.h"

namespace mixstack::cli {

/// Says why a process cannot be recorded, and answers the exit code of that.
ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid);
/// Whether the error is that the process has ended, or is about to.
[[nodiscard]] bool has_gone(const Error& error, std::uint32_t pid);
/// Whether the number is that of a thread, which is not its process's.
[[nodiscard]] bool is_thread(std::uint32_t pid);
/// The .NET processes that are called so.
[[nodiscard]] std::vector<std::uint32_t> pids_called(const std::string& name);
/// The command line, fit for a terminal, of bounded length.
[[nodiscard]] std::string command_of(const TargetInfo& target);
/// What the program is called, fit for a terminal: by its assembly where the host `dotnet` runs it, else by the kernel.
[[nodiscard]] std::string name_of(std::uint32_t pid);
/// Processor time of this process.
[[nodiscard]] std::uint64_t own_cpu_ns();

}  // namespace mixstack::cli
