// The few files of /proc and /sys that sampling needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::perf {

/// The number that a file begins with.
[[nodiscard]] std::optional<std::int64_t> number_in(const std::string& path);
/// The number of a tracepoint by its folder, "raw_syscalls/sys_exit". Errors: permission_denied (tracefs is for root),
/// not_found (no tracefs is mounted, or this kernel has no such tracepoint).
[[nodiscard]] Result<std::uint64_t> tracepoint_number(const std::string& name);
/// "0-3,8" as numbers, at most 8192, as listed; empty if the text is no such list.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);
/// Processors that run threads now; at least one.
[[nodiscard]] std::vector<int> online_cpus();
/// The threads of a process. Errors: no_such_process (it has gone, or is hidden), limit_exceeded (our files), io_error.
[[nodiscard]] Result<std::vector<ThreadId>> threads_of(std::uint32_t pid);

}  // namespace mixstack::perf
