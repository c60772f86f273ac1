// Which registers a call preserves on x86-64. Bits are DWARF register numbers.
#pragma once

#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::arch::x86_64 {

constexpr std::uint64_t bit(unsigned reg) { return std::uint64_t{1} << reg; }

/// System V AMD64 psABI 1.0 figure 3.4, without rsp. CoreCLR on Unix uses the same set
/// (dotnet/runtime src/coreclr/vm/amd64/cgencpu.h, ENUM_CALLEE_SAVED_REGISTERS).
inline constexpr std::uint64_t kCalleeSaved = bit(x86_64_reg::rbx) | bit(x86_64_reg::rbp) | bit(x86_64_reg::r12) |
                                              bit(x86_64_reg::r13) | bit(x86_64_reg::r14) | bit(x86_64_reg::r15);
/// Windows x64 calling convention, also CoreCLR's on Windows.
inline constexpr std::uint64_t kCalleeSavedWindows = kCalleeSaved | bit(x86_64_reg::rdi) | bit(x86_64_reg::rsi);
/// The same on either OS; the twin folders differ.
inline constexpr std::uint64_t kCalleeSavedCoreClrUnix = kCalleeSaved;
inline constexpr std::uint64_t kCalleeSavedCoreClrWindows = kCalleeSavedWindows;

}  // namespace mixstack::arch::x86_64
