// Direct execution of one FDE at one pc: every construct of DWARF CFI, no preparation. For rows the compiled table
// cannot hold, and the reference that the table is tested against.
#pragma once

#include "engine/unwind/cfi_section.h"
#include "engine/unwind/rule.h"

namespace mixstack::unwind {

/// The rule at `pc` (link-time) of an FDE that covers it. Expressions are numbered by `expression_number`; the rule's
/// pool and load bias are left for the owner of the section to fill in. Errors: those of the decoder, `limit_exceeded`
/// for offsets beyond 32 bits, `unsupported` for a return-address column we cannot hold.
[[nodiscard]] Result<UnwindRule> interpret_fde(const CfiSection& section, const Cie& cie, const Fde& fde,
                                               std::uint64_t pc);

/// The same without allocation, for signal handlers: at most two remembered states, some 4 KiB of stack.
[[nodiscard]] Result<UnwindRule> interpret_fde_in_place(const CfiSection& section, const Cie& cie, const Fde& fde,
                                                        std::uint64_t pc);

/// Number of an expression: the position of its length in its section and which section, so that nothing is stored.
[[nodiscard]] constexpr std::uint64_t expression_number(CfiFlavour flavour, std::uint64_t position) {
  return position << 1 | (flavour == CfiFlavour::debug_frame ? 1 : 0);
}
[[nodiscard]] constexpr CfiFlavour expression_flavour(std::uint32_t number) {
  return (number & 1) != 0 ? CfiFlavour::debug_frame : CfiFlavour::eh_frame;
}
/// The bytes of a block (length, then content) at `position`; empty when it does not lie in the section.
[[nodiscard]] std::span<const std::byte> read_block(const CfiSection& section, std::uint64_t position);

}  // namespace mixstack::unwind
