// Whether /proc numbers processes as we do.
#pragma once

#include <cstdint>
#include <string_view>

#include "mixstack/result.h"

namespace mixstack::base {

/// What /proc/self/status says of us is checked: a /proc of an outer pid namespace shows us under another number and
/// lists one for each namespace further in (NSpid, proc(5)); in one of a namespace that we are not in there is no
/// /proc/self at all. Then /proc/PID and ptrace(PID) mean different processes, and nothing of either may be believed.
/// False as well where there is no proc file system, or where it cannot be read: that shows by itself.
[[nodiscard]] bool is_proc_of_other_pid_namespace();

/// The decision: `status` as /proc/self/status has it, of the process that has the number `own_pid` for itself.
[[nodiscard]] bool is_status_of_other_namespace(std::string_view status, std::uint32_t own_pid);

/// How that is told where a process is opened: `unsupported`, with a value that no other error has.
[[nodiscard]] Error other_pid_namespace_error();

}  // namespace mixstack::base
