// Finds the caller of a frame whose function has no unwind information, by decoding the function's machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/unwind/rule.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// Most bytes of code decoded; a pc farther into its function is `limit_exceeded`.
inline constexpr std::size_t kMaxPrologueCode = 64 << 10;

/// The rule `offset` bytes into the function whose first instruction is `code[0]`. `code` must reach to the pc at
/// least; the remainder is not needed. `is_return_address`: the frame is in a call.
///
/// Follows the code in one pass from the function's start to the pc: pushes, stores of preserved registers, changes of
/// sp, the frame pointer, epilogues, and both ways of every forward branch, so that several epilogues and prologues
/// behind a first test are right. Code that is only reached backwards or through a table is assumed to run in the
/// deepest frame. Hence trust `prologue`: check that a call precedes the return address.
///
/// Errors: `unsupported_cpu`, `invalid_argument` (code ends before the pc), `malformed` (an instruction that cannot be
/// decoded, or the pc is not at the start of one), `limit_exceeded`, `no_unwind_info` (sp is computed at run time and
/// no frame pointer is set up). Allocates nothing.
[[nodiscard]] Result<UnwindRule> prologue_rule(Arch arch, std::span<const std::byte> code, std::size_t offset,
                                               bool is_return_address);

/// The rules of a whole function in one pass: at each instruction the rule before it, which is also that of a frame
/// whose call it is. Ends at bytes that cannot be decoded. Decodes `kMaxPrologueCode` bytes.
void each_prologue_rule(Arch arch, std::span<const std::byte> code,
                        const std::function<void(std::size_t offset, const Result<UnwindRule>& rule)>& take);

}  // namespace mixstack::unwind
