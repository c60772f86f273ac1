// Which registers a call preserves on 32-bit ARM. Bits are DWARF register numbers.
#pragma once

#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::arch::arm {

/// "Procedure Call Standard for the Arm Architecture" section 6.1.1: r4-r11.
inline constexpr std::uint64_t kCalleeSaved = 0xff0u;
inline constexpr std::uint64_t kCalleeSavedWindows = kCalleeSaved;
/// CoreCLR counts lr as well (dotnet/runtime src/coreclr/vm/arm/cgencpu.h).
inline constexpr std::uint64_t kCalleeSavedCoreClrUnix = kCalleeSaved | 1u << arm_reg::lr;
inline constexpr std::uint64_t kCalleeSavedCoreClrWindows = kCalleeSavedCoreClrUnix;

}  // namespace mixstack::arch::arm
