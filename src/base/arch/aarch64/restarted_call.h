// Instructions before the system call of AArch64 C libraries: mov x8, #number; what sets arguments; svc #0.
#pragma once

#include "base/arch/restarted_call.h"

namespace mixstack::arch::aarch64 {

inline constexpr std::int64_t kRestart = 128;  // include/uapi/asm-generic/unistd.h

/// -1: none.
[[nodiscard]] std::int64_t restarted_call(std::span<const std::byte> code);

}  // namespace mixstack::arch::aarch64
