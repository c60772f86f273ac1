// What commands that record say and ask of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/record_arguments.h"
#include "profile/open_recorder.h"

namespace mixstack::cli {

/// What recording every process without a stop needs, as of setcap(8): to read its memory, perf events, BPF.
inline constexpr char kRecordCapabilities[] = "cap_bpf,cap_perfmon,cap_sys_ptrace";

/// How samples are to be taken.
[[nodiscard]] profile::RecorderOptions recorder_options(const RecordArguments& arguments);

/// Says why a process cannot be recorded, and answers the exit code of that.
ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid);
/// The same of a recorder that could not be opened.
ExitCode complain_of(const Environment& environment, const profile::NotOpened& fault, std::uint32_t pid);
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
/// How many threads it has now; 0: there is no such process.
[[nodiscard]] std::size_t threads_of(std::uint32_t pid);
/// Processor time that a process has used outside of the kernel, by threads that have ended, too. Nothing: it has gone.
[[nodiscard]] std::optional<std::uint64_t> user_cpu_ns(std::uint32_t pid);
/// Processor time of this process.
[[nodiscard]] std::uint64_t own_cpu_ns();

}  // namespace mixstack::cli
