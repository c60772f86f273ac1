// The frame-pointer chain: the last resort for code without unwind information, used only if its words are plausible.
#pragma once

#include "engine/unwind/rule.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

struct FramePointerRule {
  UnwindRule rule;  ///< trust and origin `frame_pointer`
  /// False on AArch64, where a frame record may lie anywhere in its frame: the CFA is then only a lower bound, and the
  /// caller's sp must be forgotten after `apply`.
  bool sp_is_exact = true;
};

/// The farthest a frame record may lie above sp.
inline constexpr Address kMaxFrameSize = Address{16} << 20;

/// The rule that follows the frame record (saved frame pointer, return address) at the frame pointer. Checked against
/// the stack: fp is aligned, at or above sp and at most kMaxFrameSize away, the record is readable, the saved frame
/// pointer is aligned and above the record, or 0. On AArch64 a frame pointer of 0 means that there is no caller.
/// Errors: `register_unknown`, `unsupported_cpu`, `unreadable_memory`, `no_unwind_info` (no frame record; value: fp).
/// Signal-safe if the stack's fallback is.
///
/// Wrong if a function uses the frame pointer for something else and the words pass by chance. It silently skips the
/// caller of a function without a frame record (a leaf, an optimised method, a stub).
[[nodiscard]] Result<FramePointerRule> frame_pointer_rule(const Registers& registers, const StackView& stack);

}  // namespace mixstack::unwind
