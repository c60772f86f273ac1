// The code behind the call of a thread's function in AArch64 C libraries: mov x8, #number; svc #0.
#pragma once

#include "base/arch/task_end.h"

namespace mixstack::arch::aarch64 {

/// Source: Arm ARM C6.2 (MOVZ, SVC); Linux include/uapi/asm-generic/unistd.h; musl src/thread/aarch64/clone.s.
[[nodiscard]] bool ends_task(std::span<const std::byte> code);

}  // namespace mixstack::arch::aarch64
