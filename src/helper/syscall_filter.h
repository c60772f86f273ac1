// The system calls a helper may make.
#pragma once

#include <cstdint>

namespace mixstack::helper {

/// AUDIT_ARCH_* of the CPU this is built for (linux/audit.h); in the twin folders.
[[nodiscard]] std::uint32_t native_audit_arch();

/// From now on: memory, clocks, and the descriptors there are. No files (`file_answers.h` answers what asks for one),
/// no threads, no processes, no signals to anybody. Everything else fails with EPERM: programs get on with that better
/// than with being killed. False when the kernel declines.
[[nodiscard]] bool allow_few_system_calls();

}  // namespace mixstack::helper
