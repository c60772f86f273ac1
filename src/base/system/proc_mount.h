// Whether /proc numbers processes as we do.
#pragma once

#include <cstdint>
#include <string_view>

#include "mixstack/result.h"

namespace mixstack::base {

/// Checks what /proc/self/status says of us. A /proc of an outer pid namespace shows us under another number and lists
/// one number for each inner namespace (NSpid, proc(5)); a /proc of a namespace that we are not in has no /proc/self.
/// Then /proc/PID and ptrace(PID) mean different processes, and neither can be trusted. False also if there is no proc
/// file system or it cannot be read: later calls report that.
[[nodiscard]] bool is_proc_of_other_pid_namespace();

/// The decision alone: `status` is the text of /proc/self/status, `own_pid` the pid that the process has for itself.
[[nodiscard]] bool is_status_of_other_namespace(std::string_view status, std::uint32_t own_pid);

/// The error for that when a process is opened: `unsupported`, with a value that no other error has.
[[nodiscard]] Error other_pid_namespace_error();

}  // namespace mixstack::base
