// Registers of the arguments of a system call on x86-64 Linux (syscall(2)).
#pragma once

#include <array>

#include "mixstack/registers.h"

namespace mixstack::arch::x86_64 {

inline constexpr std::array<unsigned, 6> kCallArguments{x86_64_reg::rdi, x86_64_reg::rsi, x86_64_reg::rdx,
                                                        x86_64_reg::r10, x86_64_reg::r8,  x86_64_reg::r9};

}  // namespace mixstack::arch::x86_64
