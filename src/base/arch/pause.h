// Recognises code that spins: between two looks at a word it pauses, so that the other thread of its core gets on.
#pragma once

#include <cstddef>
#include <span>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// So many bytes before a pc, and from it on, hold the instruction where a loop of a few is interrupted.
inline constexpr std::size_t kPauseReach = 8;

/// Whether the instruction is among `code`, the bytes around a pc. Other instructions hold its bytes now and then.
[[nodiscard]] bool pauses(Arch arch, std::span<const std::byte> code);

}  // namespace mixstack::arch
