// Pointer authentication codes (PAC) in AArch64 return addresses.
#pragma once

#include <cstdint>

#include "mixstack/address.h"

namespace mixstack::arch::aarch64 {

/// Bits an authentication code can occupy in an instruction address with 48-bit virtual addresses: all above bit 47
/// but bit 55, which says which half of the address space it is. Linux reports the exact mask of a thread as regset
/// NT_ARM_PAC_MASK (Documentation/arm64/pointer-authentication.rst).
inline constexpr std::uint64_t kDefaultPacMask = 0xff7f000000000000u;

/// The address without its code: the bits of `mask` become copies of bit 55 (Arm ARM, pseudocode function Strip).
/// An address that carries none is unchanged.
[[nodiscard]] constexpr Address strip_pac(Address address, std::uint64_t mask = kDefaultPacMask) {
  return (address >> 55 & 1) != 0 ? address | mask : address & ~mask;
}

}  // namespace mixstack::arch::aarch64
