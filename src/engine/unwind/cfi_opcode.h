// Call frame instructions (DWARF 5 section 7.24, table 7.29; LSB 5.0 section 10.5.1 for the GNU ones; "DWARF for the
// Arm 64-bit Architecture" section 4.4 for the AArch64 ones).
#pragma once

#include <cstdint>

namespace mixstack::unwind::dw_cfa {

/// In the two high bits, with an operand in the low six.
inline constexpr std::uint8_t kAdvanceLoc = 1, kOffset = 2, kRestore = 3, kLowMask = 0x3f;

inline constexpr std::uint8_t kNop = 0x00, kSetLoc = 0x01, kAdvanceLoc1 = 0x02, kAdvanceLoc2 = 0x03,
                              kAdvanceLoc4 = 0x04, kOffsetExtended = 0x05, kRestoreExtended = 0x06, kUndefined = 0x07,
                              kSameValue = 0x08, kRegister = 0x09, kRememberState = 0x0a, kRestoreState = 0x0b,
                              kDefCfa = 0x0c, kDefCfaRegister = 0x0d, kDefCfaOffset = 0x0e, kDefCfaExpression = 0x0f,
                              kExpression = 0x10, kOffsetExtendedSf = 0x11, kDefCfaSf = 0x12, kDefCfaOffsetSf = 0x13,
                              kValOffset = 0x14, kValOffsetSf = 0x15, kValExpression = 0x16, kMipsAdvanceLoc8 = 0x1d,
                              kAarch64SetRaState = 0x2b, kAarch64NegateRaStateWithPc = 0x2c,
                              kGnuWindowSave = 0x2d,  // DW_CFA_AARCH64_negate_ra_state on AArch64
    kGnuArgsSize = 0x2e, kGnuNegativeOffsetExtended = 0x2f;

}  // namespace mixstack::unwind::dw_cfa
