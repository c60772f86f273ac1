// x86-64. Sources: System V AMD64 psABI 1.0 (figures 3.4 and 3.36, tables 4.9 and 4.10), winnt.h, dotnet/runtime
// src/coreclr/vm/amd64/cgencpu.h (ENUM_CALLEE_SAVED_REGISTERS).
#pragma once

#include "base/arch/cpu_traits.h"

namespace mixstack::arch::x86_64 {

inline constexpr std::array<std::string_view, x86_64_reg::count> kRegisterNames{
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

inline constexpr std::uint64_t kCalleeSaved =
    bit(x86_64_reg::rbx) | bit(x86_64_reg::rbp) | bits(x86_64_reg::r12, x86_64_reg::r15);
inline constexpr std::uint64_t kCalleeSavedWindows = kCalleeSaved | bit(x86_64_reg::rdi) | bit(x86_64_reg::rsi);

/// The kernel's sigcontext, behind flags, link and stack of the ucontext
/// (Linux arch/x86/include/uapi/asm/{ucontext,sigcontext}.h; glibc's ucontext_t begins alike).
inline constexpr std::array<std::uint8_t, x86_64_reg::count> kSignalOrder{
    x86_64_reg::r8,  x86_64_reg::r9,  x86_64_reg::r10, x86_64_reg::r11, x86_64_reg::r12, x86_64_reg::r13,
    x86_64_reg::r14, x86_64_reg::r15, x86_64_reg::rdi, x86_64_reg::rsi, x86_64_reg::rbp, x86_64_reg::rbx,
    x86_64_reg::rdx, x86_64_reg::rax, x86_64_reg::rcx, x86_64_reg::rsp, x86_64_reg::rip};
// mov $15, %rax; syscall (glibc, musl), or the short mov of others.
inline constexpr std::array<std::uint8_t, 9> kSignalReturn{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
inline constexpr std::array<std::uint8_t, 7> kShortSignalReturn{0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

inline constexpr Cpu kCpu{
    .name = "x86_64",
    .rid = "x64",
    .is_walked = true,
    .registers = arch_registers(Arch::x86_64),
    .register_names = kRegisterNames,
    .vectors = {.first = 17, .prefix = "xmm", .wide_prefix = "ymm"},
    .ra_column = x86_64_reg::rip,
    .preserved = {kCalleeSaved, kCalleeSavedWindows, kCalleeSaved, kCalleeSavedWindows},
    // struct rt_sigframe (Linux arch/x86/include/asm/sigframe.h): flags, link and stack of the ucontext take 40 bytes,
    // its sigcontext 256, its mask 8.
    .signal_frame = {.return_codes = {kSignalReturn, kShortSignalReturn},
                     .info = 304,
                     .context = 0,
                     .registers = 40,
                     .order = kSignalOrder},
    .elf = {.machine = 62, .relative = 8, .glob_dat = 6, .jump_slot = 7, .irelative = 37},
    .pe_machine = 0x8664,
};

}  // namespace mixstack::arch::x86_64
