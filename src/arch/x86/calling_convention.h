// Which registers a call preserves on x86. Bits are DWARF register numbers.
#pragma once

#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::arch::x86 {

/// System V i386 psABI table 2.3, without esp; the same on Windows and in CoreCLR
/// (dotnet/runtime src/coreclr/vm/i386/cgencpu.h).
inline constexpr std::uint64_t kCalleeSaved =
    1u << x86_reg::ebx | 1u << x86_reg::ebp | 1u << x86_reg::esi | 1u << x86_reg::edi;
inline constexpr std::uint64_t kCalleeSavedWindows = kCalleeSaved;
inline constexpr std::uint64_t kCalleeSavedCoreClrUnix = kCalleeSaved;
inline constexpr std::uint64_t kCalleeSavedCoreClrWindows = kCalleeSaved;

}  // namespace mixstack::arch::x86
