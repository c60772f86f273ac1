// CONTEXT of AMD64. Source: dotnet/runtime src/coreclr/pal/inc/pal.h (HOST_AMD64) and cDAC AMD64Context.cs.
#pragma once

#include <array>

#include "base/arch/context.h"

namespace mixstack::arch::x86_64 {

using namespace x86_64_reg;
inline constexpr std::array<ContextRegister, 17> kContextRegisters{{{rax, 0x78},
                                                                    {rcx, 0x80},
                                                                    {rdx, 0x88},
                                                                    {rbx, 0x90},
                                                                    {rsp, 0x98},
                                                                    {rbp, 0xa0},
                                                                    {rsi, 0xa8},
                                                                    {rdi, 0xb0},
                                                                    {r8, 0xb8},
                                                                    {r9, 0xc0},
                                                                    {r10, 0xc8},
                                                                    {r11, 0xd0},
                                                                    {r12, 0xd8},
                                                                    {r13, 0xe0},
                                                                    {r14, 0xe8},
                                                                    {r15, 0xf0},
                                                                    {rip, 0xf8}}};
inline constexpr ContextLayout kContextLayout{.size = 0x4d0,
                                              .flags_offset = 0x30,
                                              .register_size = 8,
                                              .flags_full = 0x10000b,
                                              .flags_all = 0x10001f,
                                              .flag_xstate = 0x40,
                                              .registers = kContextRegisters};

}  // namespace mixstack::arch::x86_64
