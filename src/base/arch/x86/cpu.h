// x86, as far as the runtime's contracts need it. Sources: System V i386 psABI (tables 2.3 and 2.14), winnt.h,
// dotnet/runtime src/coreclr/vm/i386/cgencpu.h.
#pragma once

#include "base/arch/cpu_traits.h"

namespace mixstack::arch::x86 {

inline constexpr std::array<std::string_view, x86_reg::count> kRegisterNames{"eax", "ecx", "edx", "ebx", "esp",
                                                                             "ebp", "esi", "edi", "eip"};

/// The same on Windows and in CoreCLR.
inline constexpr std::uint64_t kCalleeSaved = bit(x86_reg::ebx) | bits(x86_reg::ebp, x86_reg::edi);

inline constexpr Cpu kCpu{
    .name = "x86",
    .rid = "x86",
    .registers = arch_registers(Arch::x86),
    .register_names = kRegisterNames,
    .ra_column = x86_reg::eip,
    .preserved = {kCalleeSaved, kCalleeSaved, kCalleeSaved, kCalleeSaved},
    .elf = {.machine = 3},
    .pe_machine = 0x14c,
};

}  // namespace mixstack::arch::x86
