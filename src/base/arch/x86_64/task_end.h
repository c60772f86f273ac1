// The code behind the call of a thread's function in x86-64 C libraries: mov %eax,%edi; the number into eax; syscall.
#pragma once

#include "base/arch/task_end.h"

namespace mixstack::arch::x86_64 {

/// Forms: 89 C7 or 48 89 C7 (mov), then 31 C0 B0 imm8 (xor, mov) or B8 imm32, 60 (exit) or 231 (exit_group), then 0F
/// 05. Source: Intel SDM volume 2; Linux arch/x86/entry/syscalls/syscall_64.tbl; musl src/thread/x86_64/clone.s.
[[nodiscard]] bool ends_task(std::span<const std::byte> code);

}  // namespace mixstack::arch::x86_64
