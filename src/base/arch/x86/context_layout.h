// CONTEXT of x86. Source: dotnet/runtime src/coreclr/pal/inc/pal.h (HOST_X86) and cDAC X86Context.cs.
#pragma once

#include <array>

#include "base/arch/context.h"

namespace mixstack::arch::x86 {

using namespace x86_reg;
inline constexpr std::array<ContextRegister, 9> kContextRegisters{{{edi, 0x9c},
                                                                   {esi, 0xa0},
                                                                   {ebx, 0xa4},
                                                                   {edx, 0xa8},
                                                                   {ecx, 0xac},
                                                                   {eax, 0xb0},
                                                                   {ebp, 0xb4},
                                                                   {eip, 0xb8},
                                                                   {esp, 0xc4}}};
inline constexpr ContextLayout kContextLayout{.size = 0x2cc,
                                              .flags_offset = 0,
                                              .register_size = 4,
                                              .flags_full = 0x10000b,
                                              .flags_all = 0x10003f,
                                              .flag_xstate = 0x40,
                                              .registers = kContextRegisters};

}  // namespace mixstack::arch::x86
