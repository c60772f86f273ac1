// The decoder of each CPU.
#pragma once

#include <span>

#include "base/arch/per_cpu.h"
#include "engine/unwind/prologue/aarch64/instruction.h"
#include "engine/unwind/prologue/x86_64/instruction.h"

namespace mixstack::unwind::prologue {

/// Decodes the effect on a frame of the first instruction of a piece of code. Signal-safe.
using Decoder = Instruction (*)(std::span<const std::byte>);

/// Null for CPUs whose code is not decoded.
inline constexpr arch::PerCpu<Decoder> kDecoders{.x86_64 = x86_64::decode, .aarch64 = aarch64::decode};

}  // namespace mixstack::unwind::prologue
