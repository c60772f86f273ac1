// The caller of a frame whose function has no unwind information, from the machine code of the function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "mixstack/registers.h"
#include "mixstack/result.h"
#include "unwind/rule.h"

namespace mixstack::unwind {

/// The most code that is looked at; a pc farther into its function is `limit_exceeded`.
inline constexpr std::size_t kMaxPrologueCode = 64 << 10;

/// The rule `offset` bytes into the function whose first instruction is `code[0]`. `code` must reach to the pc at
/// least; what lies behind is not needed. `is_return_address` for a frame that is in a call.
///
/// The code is followed in one pass from the function's start to the pc: pushes, stores of preserved registers, changes
/// of sp, the frame pointer, epilogues, and both ways of every forward branch, so several epilogues and prologues
/// behind a first test are right. Code that is only reached backwards or through a table is taken to run in the deepest
/// frame. Nothing else is known of what the code does, hence trust `prologue`: check that a call precedes the return
/// address.
///
/// Errors: `unsupported_cpu`, `invalid_argument` (code ends before the pc), `malformed` (an instruction that cannot be
/// decoded, or the pc is not at the start of one), `limit_exceeded`, `no_unwind_info` (sp is computed at run time and
/// no frame pointer is set up). Allocates nothing.
[[nodiscard]] Result<UnwindRule> prologue_rule(Arch arch, std::span<const std::byte> code, std::size_t offset,
                                               bool is_return_address);

/// The rules of a whole function in one pass: at each instruction the one that holds before it, which is also that of a
/// frame whose call it is. Ends at bytes that are no instruction. Looks at `kMaxPrologueCode` bytes.
void each_prologue_rule(Arch arch, std::span<const std::byte> code,
                        const std::function<void(std::size_t offset, const Result<UnwindRule>& rule)>& take);

}  // namespace mixstack::unwind
