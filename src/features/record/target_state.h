// The kernel's words on a process that is sampled.
#pragma once

#include <cstdint>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/target.h"

namespace mixstack::record {

/// The kernel's short name of a thread; empty when it has gone.
[[nodiscard]] std::string name_of_thread(std::uint32_t pid, ThreadId tid);
/// Processor time of a thread; 0: not known.
[[nodiscard]] std::uint64_t cpu_ns_of_thread(std::uint32_t pid, ThreadId tid);
/// Nothing of it runs any more: it is gone, or a zombie that waits for its parent. `folder` is /proc/PID.
[[nodiscard]] bool has_ended(const base::ScopedFd& folder);

}  // namespace mixstack::record
