// The system calls a helper may make.
#pragma once

#include <cstdint>

namespace mixstack::helper {

/// AUDIT_ARCH_* of the CPU this is built for (linux/audit.h); in the twin folders.
[[nodiscard]] std::uint32_t native_audit_arch();

/// From now on: memory, threads of its own, clocks, its socket, and files opened for reading. Everything else fails
/// with EPERM (programs get on with that better than with being killed). False when the kernel declines.
[[nodiscard]] bool allow_few_system_calls();
/// And from now on no files either: what a DAC needs of them it has read when it was loaded.
[[nodiscard]] bool allow_no_files();

}  // namespace mixstack::helper
