// Execution of an unwind rule: from the registers of a frame to those of its caller.
#pragma once

#include <cstdint>

#include "engine/unwind/rule.h"
#include "mixstack/address.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// The caller's place. Its registers are in the `Registers` that were passed in.
struct Caller {
  CodeAddress pc;                ///< exact where the callee was a signal frame, a return address otherwise
  Address cfa = 0;               ///< of the callee: the caller's sp after the return
  bool is_end_of_stack = false;  ///< there is no caller; registers were not changed
};

/// Executes `rule` for a frame at `pc` and replaces `registers` by the caller's.
///
/// Registers without a rule keep their value if the ABI says they are preserved and become unknown otherwise; registers
/// whose saved value cannot be read become unknown; pc becomes the return address and sp the CFA (unless the rule
/// restores sp itself). `pac_mask` has the bits that pointer authentication uses; they are cleared in a return address
/// that the rule calls signed.
///
/// End of stack: the return address is undefined, or zero and not that of a signal frame. Errors leave `registers` as
/// they were: `register_unknown` (CFA or return address depend on it), `unreadable_memory`, those of expressions,
/// `no_unwind_info` (no CFA rule). Whether the stack advances is for the caller to judge. Allocates nothing; safe in
/// signal handlers if the fallback of `stack` is.
[[nodiscard]] Result<Caller> apply(const UnwindRule& rule, Registers& registers, CodeAddress pc, const StackView& stack,
                                   std::uint64_t pac_mask = 0);

/// Where a rule saved a register of the caller, for --registers and --explain.
struct SavedLocation {
  enum class Kind : std::uint8_t { unknown, unchanged, memory, in_register, computed } kind = Kind::unknown;
  Address address = 0;   ///< of memory
  std::uint8_t reg = 0;  ///< of in_register
};
/// `registers` are those of the callee.
[[nodiscard]] SavedLocation saved_location(const UnwindRule& rule, unsigned reg, const Registers& registers,
                                           CodeAddress pc, const StackView& stack);

}  // namespace mixstack::unwind
