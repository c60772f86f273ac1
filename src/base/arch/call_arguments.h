// The registers of a system call's arguments.
#pragma once

#include "base/arch/aarch64/call_arguments.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/call_arguments.h"

namespace mixstack::arch {

/// DWARF numbers of the registers, in order; for a CPU whose stacks are not walked, numbers that no thread has.
inline constexpr PerCpu<std::array<unsigned, 6>> kCallArguments{
    .x86_64 = x86_64::kCallArguments,
    .aarch64 = aarch64::kCallArguments,
    .x86 = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax},
    .arm = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax},
    .unknown = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax}};

}  // namespace mixstack::arch
