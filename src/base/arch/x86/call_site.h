// Call instructions of x86.
#pragma once

#include "base/arch/x86_64/call_site.h"

namespace mixstack::arch::x86 {

/// Encoded as on x86-64; addresses have 32 bits.
[[nodiscard]] inline std::optional<CallSite> call_before(std::span<const std::byte> before, Address return_address) {
  auto site = x86_64::call_before(before, return_address);
  if (site && site->target) site->target = *site->target & 0xffffffffu;
  return site;
}

}  // namespace mixstack::arch::x86
