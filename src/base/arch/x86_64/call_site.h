// Call instructions of x86-64.
#pragma once

#include "base/arch/call_site.h"

namespace mixstack::arch::x86_64 {

/// E8 rel32 and FF /2 in every ModRM form. Prefixes (REX, segment, notrack, bnd) change nothing: only the bytes from
/// the opcode on are looked at. Source: Intel SDM volume 2, CALL and table 2-2.
[[nodiscard]] std::optional<CallSite> call_before(std::span<const std::byte> before, Address return_address);

}  // namespace mixstack::arch::x86_64
