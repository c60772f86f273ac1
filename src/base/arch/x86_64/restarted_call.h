// Instructions before the system call of x86-64 C libraries: mov $number,%eax (B8 imm32), what sets arguments, syscall.
#pragma once

#include "base/arch/restarted_call.h"

namespace mixstack::arch::x86_64 {

inline constexpr std::int64_t kRestart = 219;  // arch/x86/entry/syscalls/syscall_64.tbl

/// -1: none.
[[nodiscard]] std::int64_t restarted_call(std::span<const std::byte> code);

}  // namespace mixstack::arch::x86_64
