// The instruction of spinning code on AArch64: yield, or isb, which takes longer.
#pragma once

#include "base/arch/pause.h"

namespace mixstack::arch::aarch64 {

/// Source: Arm ARM C6.2, YIELD and ISB.
[[nodiscard]] bool pauses(std::span<const std::byte> code);

}  // namespace mixstack::arch::aarch64
