// AArch64 instructions as prologue analysis sees them.
#pragma once

#include <cstddef>
#include <span>

#include "engine/unwind/prologue/instruction.h"

namespace mixstack::unwind::prologue::aarch64 {

/// Source: Arm ARM (DDI 0487) section C4.1, encoding index. Words that mean nothing here have no effect.
[[nodiscard]] Instruction decode(std::span<const std::byte> code);

}  // namespace mixstack::unwind::prologue::aarch64
