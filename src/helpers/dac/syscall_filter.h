// Restricts the system calls of the helper (seccomp).
#pragma once

#include <cstdint>

namespace mixstack::helper {

/// AUDIT_ARCH_* of the CPU this is built for (linux/audit.h); in the twin folders.
[[nodiscard]] std::uint32_t native_audit_arch();

/// From now on allows only memory, clocks, and the open descriptors: no files (`file_answers.h` answers those calls),
/// no threads, no processes, no signals to others. Other calls fail with EPERM, which programs survive more often than
/// SIGSYS. False when the kernel declines the filter.
[[nodiscard]] bool allow_few_system_calls();

}  // namespace mixstack::helper
