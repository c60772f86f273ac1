// Call instructions of AArch64.
#pragma once

#include "base/arch/call_site.h"

namespace mixstack::arch::aarch64 {

/// BL, BLR, BLRAA, BLRAB, BLRAAZ, BLRABZ. Source: Arm ARM (DDI 0487), section C6.2.
[[nodiscard]] std::optional<CallSite> call_before(std::span<const std::byte> before, Address return_address);

}  // namespace mixstack::arch::aarch64
