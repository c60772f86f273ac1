// Which registers a call preserves on AArch64. Bits are DWARF register numbers.
#pragma once

#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::arch::aarch64 {

/// Bits `first`..`last`, both included.
constexpr std::uint64_t bits(unsigned first, unsigned last) {
  return ((std::uint64_t{2} << last) - 1) & ~((std::uint64_t{1} << first) - 1);
}

/// "Procedure Call Standard for the Arm 64-bit Architecture" section 6.1.1: x19-x28 and the frame pointer.
inline constexpr std::uint64_t kCalleeSaved = bits(aarch64_reg::x19, aarch64_reg::x29);
inline constexpr std::uint64_t kCalleeSavedWindows = kCalleeSaved;
/// CoreCLR counts lr as well, since its CalleeSavedRegisters structure holds it
/// (dotnet/runtime src/coreclr/vm/arm64/cgencpu.h).
inline constexpr std::uint64_t kCalleeSavedCoreClrUnix = kCalleeSaved | bits(aarch64_reg::lr, aarch64_reg::lr);
inline constexpr std::uint64_t kCalleeSavedCoreClrWindows = kCalleeSavedCoreClrUnix;

}  // namespace mixstack::arch::aarch64
