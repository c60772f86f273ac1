// Finds the original system call of a thread that the kernel has restarted as restart_syscall, after a stop or a
// signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// Bytes of code searched before the pc.
inline constexpr std::size_t kRestartedCode = 64;

/// Calls with a time limit are continued as `restart_syscall`, whose number replaces their own: poll, nanosleep,
/// clock_nanosleep and futex (waits with a time-out; the users of restart_block in Linux). Their arguments are still in
/// the registers. `code` ends at the pc, behind the system call instruction; the last instruction in it that loads one
/// of those numbers into the number's register tells the call. Returns `number` if it is not restart_syscall, or if the
/// call is not found.
[[nodiscard]] std::int64_t restarted_call(Arch arch, std::int64_t number, std::span<const std::byte> code);
[[nodiscard]] bool is_restart(Arch arch, std::int64_t number);

}  // namespace mixstack::arch
