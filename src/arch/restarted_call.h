// Which call a thread is in that the kernel has restarted as restart_syscall, after a stop or a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// Bytes of code before the pc that a search looks at.
inline constexpr std::size_t kRestartedCode = 64;

/// Calls that wait until a time go on as `restart_syscall`, whose number takes the place of their own: poll, nanosleep,
/// clock_nanosleep and futex (waits with a time-out; who sets restart_block in Linux). The arguments are still in
/// their registers. `code` ends at the pc, behind the instruction of the call; the last instruction in it that loads
/// one of those numbers into the register of the number tells which it was. `number` where `number` is not
/// restart_syscall, or nothing tells.
[[nodiscard]] std::int64_t restarted_call(Arch arch, std::int64_t number, std::span<const std::byte> code);
[[nodiscard]] bool is_restart(Arch arch, std::int64_t number);

}  // namespace mixstack::arch
