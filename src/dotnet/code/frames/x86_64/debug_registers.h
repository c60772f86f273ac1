// How debug information numbers registers: x64 (ICorDebugInfo::RegNum in src/coreclr/inc/cordebuginfo.h).
#pragma once

#include <array>

#include "mixstack/registers.h"

namespace mixstack::dotnet::frames::x86_64 {

/// psABI numbers by those of debug information; vector registers come behind.
inline constexpr std::array<unsigned, 16> kDebugRegisters{
    x86_64_reg::rax, x86_64_reg::rcx, x86_64_reg::rdx, x86_64_reg::rbx, x86_64_reg::rsp, x86_64_reg::rbp,
    x86_64_reg::rsi, x86_64_reg::rdi, x86_64_reg::r8,  x86_64_reg::r9,  x86_64_reg::r10, x86_64_reg::r11,
    x86_64_reg::r12, x86_64_reg::r13, x86_64_reg::r14, x86_64_reg::r15};

}  // namespace mixstack::dotnet::frames::x86_64
