// 32-bit ARM, as far as the runtime's contracts need it. Sources: "Procedure Call Standard for the Arm Architecture"
// section 6.1.1, "ELF for the Arm Architecture", winnt.h, dotnet/runtime src/coreclr/vm/arm/cgencpu.h.
#pragma once

#include "base/arch/cpu_traits.h"

namespace mixstack::arch::arm {

inline constexpr std::array<std::string_view, arm_reg::count> kRegisterNames{
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

inline constexpr std::uint64_t kCalleeSaved = bits(arm_reg::r4, arm_reg::r11);
/// CoreCLR counts lr as well.
inline constexpr std::uint64_t kCalleeSavedCoreClr = kCalleeSaved | bit(arm_reg::lr);

inline constexpr Cpu kCpu{
    .name = "arm",
    .rid = "arm",
    .registers = arch_registers(Arch::arm),
    .register_names = kRegisterNames,
    .link_register = arm_reg::lr,
    .ra_column = arm_reg::lr,
    .preserved = {kCalleeSaved, kCalleeSaved, kCalleeSavedCoreClr, kCalleeSavedCoreClr},
    .zero_address_bits = 1,
    .function_flags = 1,
    .marks_code_with_symbols = true,
    .elf = {.machine = 40},
    .pe_machine = 0x1c4,
};

}  // namespace mixstack::arch::arm
