// The clone wrappers of AArch64 C libraries: cmp x0,#0; b.eq child, or cbz x0, child.
#pragma once

#include "base/arch/clone_return.h"

namespace mixstack::arch::aarch64 {

/// Where the result of a system call is: 0 in the child.
inline constexpr unsigned kCloneResult = aarch64_reg::x0;

/// Forms: CMP X0/W0,#0; CBZ X0/W0; B.EQ. Source: Arm ARM (DDI 0487) section C6.2.
[[nodiscard]] std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code);

}  // namespace mixstack::arch::aarch64
