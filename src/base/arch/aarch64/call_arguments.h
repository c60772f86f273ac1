// Registers of the arguments of a system call on AArch64 Linux (syscall(2)): x0 to x5.
#pragma once

#include <array>

namespace mixstack::arch::aarch64 {

inline constexpr std::array<unsigned, 6> kCallArguments{0, 1, 2, 3, 4, 5};

}  // namespace mixstack::arch::aarch64
