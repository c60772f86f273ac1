// AArch64. Sources: "DWARF for the Arm 64-bit Architecture", "Procedure Call Standard for the Arm 64-bit Architecture"
// section 6.1.1, "ELF for the Arm 64-bit Architecture", winnt.h, dotnet/runtime src/coreclr/vm/arm64/cgencpu.h.
#pragma once

#include "base/arch/cpu_traits.h"

namespace mixstack::arch::aarch64 {

inline constexpr std::array<std::string_view, aarch64_reg::count> kRegisterNames{
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",           "x11",
    "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22",           "x23",
    "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",  "x33", "ra_sign_state", "vg"};

inline constexpr std::uint64_t kCalleeSaved = bits(aarch64_reg::x19, aarch64_reg::x29);
/// CoreCLR counts lr as well, since its CalleeSavedRegisters structure holds it.
inline constexpr std::uint64_t kCalleeSavedCoreClr = kCalleeSaved | bit(aarch64_reg::lr);

/// x0..x30, sp, pc, behind the fault address (Linux arch/arm64/include/uapi/asm/sigcontext.h).
inline constexpr auto kSignalOrder = [] {
  std::array<std::uint8_t, aarch64_reg::pc + 1> order{};
  for (std::size_t reg = 0; reg < order.size(); reg++) order[reg] = static_cast<std::uint8_t>(reg);
  return order;
}();
// mov x8, #139; svc #0 (Linux arch/arm64/kernel/vdso/sigreturn.S)
inline constexpr std::array<std::uint8_t, 8> kSignalReturn{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
// svc #0
inline constexpr std::array<std::uint8_t, 4> kSystemCall{0x01, 0x00, 0x00, 0xd4};

inline constexpr Cpu kCpu{
    .name = "aarch64",
    .rid = "arm64",
    .is_walked = true,
    .registers = arch_registers(Arch::aarch64),
    .register_names = kRegisterNames,
    .vectors = {.first = 64, .prefix = "v", .wide_prefix = "v"},
    .link_register = aarch64_reg::lr,
    .ra_column = aarch64_reg::lr,
    .preserved = {kCalleeSaved, kCalleeSaved, kCalleeSavedCoreClr, kCalleeSavedCoreClr},
    // SVE: struct sve_context among the records of the sigcontext at 176, which begin at 288 of it; NT_ARM_SVE.
    .vector_length = {.reg = aarch64_reg::vg,
                      .dwarf = 46,
                      .records = 176 + 288,
                      .room = 4096,
                      .magic = 0x53564501,
                      .note = 0x405,
                      .bytes = 8},
    .signs_return_addresses = true,
    .zero_address_bits = 2,
    .marks_code_with_symbols = true,
    // struct rt_sigframe (Linux arch/arm64/kernel/signal.c): a siginfo of 128 bytes, a ucontext with its sigcontext at
    // 176.
    .signal_frame =
        {.return_codes = {kSignalReturn}, .info = 0, .context = 128, .registers = 176 + 8, .order = kSignalOrder},
    .system_call = {.instruction = kSystemCall, .number = aarch64_reg::x0 + 8, .result = aarch64_reg::x0, .last = 4095},
    .elf = {.machine = 183, .relative = 1027, .glob_dat = 1025, .jump_slot = 1026, .irelative = 1032},
    .pe_machine = 0xaa64,
};

}  // namespace mixstack::arch::aarch64
