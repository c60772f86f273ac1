// Instructions of short functions: x86-64.
#pragma once

#include <cstddef>
#include <span>

#include "dotnet/counters/instruction.h"
#include "mixstack/address.h"

namespace mixstack::dotnet::counters::x86_64 {

/// Registers by their numbers in the encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
inline constexpr CallRules kCallRules{
    .first = 7, .second = 6, .third = 2, .result = 0, .stack = 4, .frame = 5, .kept = 0xf038};

/// The instruction that `code` begins with, which lies at `at`.
[[nodiscard]] Instruction decode(std::span<const std::byte> code, Address at);

}  // namespace mixstack::dotnet::counters::x86_64
