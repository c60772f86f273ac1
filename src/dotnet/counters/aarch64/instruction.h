// Instructions of short functions: AArch64.
#pragma once

#include <cstddef>
#include <span>

#include "dotnet/counters/instruction.h"
#include "mixstack/address.h"

namespace mixstack::dotnet::counters::aarch64 {

/// Registers by their numbers, 31 is the stack pointer.
inline constexpr CallRules kCallRules{
    .first = 0, .second = 1, .third = 2, .result = 0, .stack = 31, .frame = 29, .link = 30, .kept = 0x3ff80000};

/// The instruction that `code` begins with, which lies at `at`.
[[nodiscard]] Instruction decode(std::span<const std::byte> code, Address at);

}  // namespace mixstack::dotnet::counters::aarch64
